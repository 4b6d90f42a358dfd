echo 'echo hi' > run.sh
./run.sh
