puts 'a' + 1
