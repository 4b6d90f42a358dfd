const s = 'abc;
console.log(s);
