console.log(1n + 1);
