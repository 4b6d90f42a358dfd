const m = 'abc'.match(/x/);
console.log(m[0]);
