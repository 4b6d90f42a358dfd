select lenght('a');
