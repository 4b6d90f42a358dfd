source ./x.sh
