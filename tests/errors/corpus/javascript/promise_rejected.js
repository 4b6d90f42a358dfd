async function f() {
  throw new TypeError('async trouble');
}
f();
