class Late extends Error {}
throw new Late('no');
