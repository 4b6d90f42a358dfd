pust hi
