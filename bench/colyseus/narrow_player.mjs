// The player of W6: as narrow_player.go, with the client of Colyseus.
import { Client } from "@colyseus/sdk";
import { nanos, obey, sleep } from "./ask.mjs";
import { ago, World } from "./narrow_state.mjs";

const stepEvery = 120, stepTurn = 0.25, lineEvery = 700, glanceEvery = 93; // milliseconds, radians; see narrow_player.go

let room = null, ended = null, state = null;
let steps = [], seen = 0, stepTimes = [], lines = new Map(), said = 0, heard = 0, lineTimes = [];

// notice finds the step that its own entity has taken. With it those before are seen.
function notice() {
	const own = state.players?.get(room.sessionId);
	const k = own ? steps.findLastIndex((s) => s.angle === own.angle) : -1;
	for (const now = performance.now(); seen <= k; seen++) stepTimes.push(nanos(now - steps[seen].at));
}

function step(now) {
	const angle = Math.fround((steps.length + 1) * stepTurn % 1000);
	steps.push({ angle, at: now });
	room.send("steer", { angle, norm: 0.1 });
}

function say(now) {
	const text = `line ${++said} is as long as a line of chat is`;
	lines.set(text, now);
	room.send("chat", text);
}

obey({
	async join(w) {
		const client = new Client(`ws://${w.addr}`);
		room = await client.joinOrCreate("field", {}, World);
		room.onStateChange((s) => { state = s; notice(); });
		room.onMessage("chat", (text) => {
			if (!lines.has(text)) return;
			lineTimes.push(nanos(performance.now() - lines.get(text)));
			lines.delete(text);
			heard++;
		});
		room.onLeave((code) => { ended = `code ${code}`; });
		for (let waited = 0; !state?.players?.get(room.sessionId); waited += 10) {
			if (waited > 30_000) throw new Error("it is connected and sees nothing");
			await sleep(10);
		}
	},
	async play(w) {
		const near = [], far = [], began = performance.now();
		let nextStep = began, nextLine = began + lineEvery / 2, nextGlance = began + w.after / 1e6;
		for (let now = began; now - began < w.for / 1e6; now = performance.now()) {
			const asks = now - began < w.until / 1e6;
			if (asks && now >= nextStep) {
				nextStep = now + stepEvery + steps.length * 7 % 40;
				step(now);
			}
			if (asks && now >= nextLine) {
				nextLine = now + lineEvery + steps.length * 11 % 100;
				say(now);
			}
			if (now >= nextGlance) {
				nextGlance += glanceEvery;
				state.walkers.forEach((x, i) => (i < w.near ? near : far).push(nanos(ago(x.x))));
			}
			await sleep(Math.max(0, Math.min(nextGlance, asks ? Math.min(nextStep, nextLine) : Infinity) - performance.now()));
		}
		if (ended) throw new Error(`the connection ended: ${ended}`);
		const end = performance.now(); // what was not seen counts with the time that it was waited for
		steps.slice(seen).forEach((s) => stepTimes.push(nanos(end - s.at)));
		lines.forEach((at) => lineTimes.push(nanos(end - at)));
		return { steps: steps.length, seen, step_times: stepTimes, lines: said, heard, line_times: lineTimes, near, far };
	},
});
