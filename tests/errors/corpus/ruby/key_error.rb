h = { a: 1 }
h.fetch(:b)
