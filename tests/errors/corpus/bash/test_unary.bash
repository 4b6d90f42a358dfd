x=
if [ $x = 1 ]; then
  echo one
fi
exit 1
