// A child of bench: it is asked by a line of JSON and answers with one.
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

// cycle is the time in milliseconds that places tell; see work_room.go.
const cycle = 8192;
export const clock = () => (performance.timeOrigin + performance.now()) % cycle;
export const since = (x) => {
	const ago = (clock() - x + 2 * cycle) % cycle;
	return ago > cycle - 1 ? 0 : ago; // it was rounded up
};
