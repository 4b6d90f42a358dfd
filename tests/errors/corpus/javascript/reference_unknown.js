console.log(frobnicate);
