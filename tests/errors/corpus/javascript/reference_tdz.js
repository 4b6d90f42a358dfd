console.log(x);
let x = 1;
