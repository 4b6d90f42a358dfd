const total: number = 4;
console.log(totl + 1);
