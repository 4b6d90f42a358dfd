x=abc
echo ${x^^}
