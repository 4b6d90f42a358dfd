JSON.parse('<html></html>');
