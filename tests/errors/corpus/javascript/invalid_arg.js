const fs = require('fs');
fs.readFileSync(undefined);
