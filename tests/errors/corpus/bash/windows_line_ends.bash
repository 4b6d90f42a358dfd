ls
