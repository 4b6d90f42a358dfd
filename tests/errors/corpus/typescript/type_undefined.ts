interface User { name: string; address?: { city: string } }
const user: User = { name: "Ada" };
console.log((user as any).address.city);
