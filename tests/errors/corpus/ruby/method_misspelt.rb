puts 'abc'.upcse
