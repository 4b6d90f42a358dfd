echo "abc
echo b
