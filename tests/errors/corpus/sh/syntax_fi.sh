if true; then
  echo a
