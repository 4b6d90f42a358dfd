declare -A a
a[]=3
exit 1
