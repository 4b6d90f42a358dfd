const o = { a: 1 };
for (const [k, v] of o) {
  console.log(k);
}
