if true
  echo a
fi
