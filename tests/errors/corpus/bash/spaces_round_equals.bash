name = Ada
echo $name
exit 1
