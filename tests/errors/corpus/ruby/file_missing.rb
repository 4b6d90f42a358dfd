File.read('in.txt')
