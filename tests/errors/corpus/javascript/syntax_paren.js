console.log('a';
