class Broken extends Error {
	constructor(readonly code: number) { super(`code ${code}`); }
}
enum Level { Low, High }
function check(level: Level): void {
	if (level === Level.High)
		throw new Broken(7);
}
check(Level.High);
