for (const x of 5) {
  console.log(x);
}
