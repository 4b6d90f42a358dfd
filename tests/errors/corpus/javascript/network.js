const http = require('http');
http.get('http://example.com/');
