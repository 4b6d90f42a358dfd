const r = /(abc/;
