const a = {};
a.a = a;
JSON.stringify(a);
