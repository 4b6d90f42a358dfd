x = nil
puts x.length
