const text: string = "{'a': 1}";
const data = JSON.parse(text) as { a: number };
console.log(data.a);
