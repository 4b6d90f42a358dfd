JSON.parse('');
