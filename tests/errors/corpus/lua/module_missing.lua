local j = require('cjson_none')
