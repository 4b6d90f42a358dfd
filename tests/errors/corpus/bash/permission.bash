set -e
echo 'echo hi' > run.sh
./run.sh
