const http = require('htpp');
