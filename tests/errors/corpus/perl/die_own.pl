sub f {
  die "too late";
}
f();
