set -u
echo $1
