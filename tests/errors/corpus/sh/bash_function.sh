function f {
  echo a
}
f
