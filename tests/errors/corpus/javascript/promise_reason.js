Promise.reject('no luck');
