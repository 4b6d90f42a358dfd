const _ = require('lodash-not-there');
