const total = 3;
console.log(totl);
