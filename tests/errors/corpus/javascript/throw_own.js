function f() {
  throw new Error('too late');
}
f();
