puts 1 + 'a'
