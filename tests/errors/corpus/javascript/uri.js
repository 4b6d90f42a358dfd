decodeURIComponent('%');
