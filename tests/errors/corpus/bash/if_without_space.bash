x=1
if [$x = 1 ]; then
  echo one
fi
exit 3
