figlet hello
