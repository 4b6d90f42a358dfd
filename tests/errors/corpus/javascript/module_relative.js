const h = require('./helper');
