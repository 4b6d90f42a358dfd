let f x = x / 0
let () = print_int (f 3)
