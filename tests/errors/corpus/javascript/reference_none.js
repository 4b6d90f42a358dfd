const x = None;
