if [[ 1 = 1 ]]; then
  echo one
fi
exit 1
