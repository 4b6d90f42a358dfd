const fs = require('fs');
console.log(fs.readFileSync('in.json', 'utf8'));
