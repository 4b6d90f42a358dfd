let total = 1
let () = print_int totl
