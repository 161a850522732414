// A child of bench: it is asked by a line of JSON and answers with one.
import { createServer } from "node:net";
import { createInterface } from "node:readline";

// obey does what it is asked until its parent is gone.
export function obey(deeds) {
	const out = process.stdout.write.bind(process.stdout);
	console.log = console.info = console.debug = () => {}; // stdout is for answers
	let turn = Promise.resolve();
	createInterface({ input: process.stdin }).on("line", (line) => {
		const { do: what, with: given } = JSON.parse(line);
		turn = turn.then(async () => {
			try {
				const value = await deeds[what](given);
				out(JSON.stringify({ value: value ?? null }) + "\n");
			} catch (e) {
				out(JSON.stringify({ error: String(e) }) + "\n");
			}
		});
	}).on("close", () => process.exit(0));
}

export const nanos = (ms) => Math.round(ms * 1e6);
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

// freePort asks the system for a port.
export const freePort = (host) => new Promise((resolve, reject) => {
	const s = createServer().on("error", reject).listen(0, host, () => {
		const { port } = s.address();
		s.close(() => resolve(port));
	});
});

// paced calls tick so many times a second. A tick that would begin more than one tick late is let go.
export function paced(rate, tick) {
	let next = performance.now();
	const wait = () => {
		const every = 1000 / rate;
		next += every;
		const late = performance.now() - next;
		if (late > every) next += late;
		setTimeout(() => { tick(); wait(); }, Math.max(0, next - performance.now()));
	};
	wait();
}

// cycle is the time in milliseconds that places tell; see work_room.go.
const cycle = 8192;
export const clock = () => (performance.timeOrigin + performance.now()) % cycle;
export const since = (x) => {
	const ago = (clock() - x + 2 * cycle) % cycle;
	return ago > cycle - 1 ? 0 : ago; // it was rounded up
};
