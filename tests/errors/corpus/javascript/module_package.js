const x = require('leftpad-no');
console.log(x);
