let () = print_string 3
