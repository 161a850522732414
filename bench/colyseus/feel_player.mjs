// The players of W5, in one process: as feel_player.go, with the client of Colyseus.
import { Client } from "@colyseus/sdk";
import { nanos, obey, sleep } from "./ask.mjs";
import { Arena } from "./feel_state.mjs";

const joining = 16;
const all = [];
let times = [], late = [], ended = null;

const remainder = (x, y) => x - y * Math.round(x / y);

class Feeler {
	steps = [];
	seen = 0;
	state = null;

	constructor(number) { this.number = number; }

	own() { return this.state?.players?.get(this.room.sessionId); }

	async enter(client) {
		this.room = await client.joinOrCreate("field", {}, Arena);
		this.room.onStateChange((s) => { this.state = s; this.notice(); });
		this.room.onLeave((code) => { ended = `code ${code}`; });
		for (let waited = 0; !this.own(); waited += 10) {
			if (waited > 30_000) throw new Error("it is connected and does not see itself");
			await sleep(10);
		}
	}

	// notice finds the step of the direction in which the player goes. With it those before are seen.
	notice() {
		if (this.seen === this.steps.length) return;
		const angle = this.own().angle;
		const k = this.steps.findLastIndex((s) => s.angle === angle);
		for (const now = performance.now(); this.seen <= k; this.seen++) times.push(nanos(now - this.steps[this.seen].at));
	}

	async play(w, due, end) {
		while (due < end) {
			await sleep(due - performance.now());
			const now = performance.now(), k = this.steps.length;
			if (now < due) continue; // timers have whole milliseconds
			late.push(nanos(now - due));
			const angle = Math.fround(remainder(this.number + 0.25 * (k + 1), 2 * Math.PI));
			this.steps.push({ angle, at: now });
			this.room.send("steer", { angle, norm: 1 });
			due += w.every / 1e6 + k * 7 % 40;
		}
		for (const last = performance.now() + w.patience / 1e6; this.seen < this.steps.length && performance.now() < last;) await sleep(10);
	}
}

obey({
	async enter(w) {
		const client = new Client(`ws://${w.addr}`);
		while (all.length < w.players) {
			const some = Array.from({ length: Math.min(joining, w.players - all.length) }, (_, i) => new Feeler(all.length + i));
			await Promise.all(some.map((f) => f.enter(client)));
			all.push(...some);
		}
	},
	async play(w) {
		const began = performance.now() + w.warm / 1e6;
		await Promise.all(all.map((f, i) => f.play(w, began + w.every / 1e6 * i / all.length, began + w.for / 1e6)));
		if (ended) throw new Error(`a connection ended: ${ended}`);
		const end = performance.now(); // a step that was not seen counts with the time that it was waited for
		let steps = 0, seen = 0, sight = 0;
		for (const f of all) {
			f.steps.slice(f.seen).forEach((s) => times.push(nanos(end - s.at)));
			steps += f.steps.length;
			seen += f.seen;
			sight += (f.state.players.size - 1) / all.length;
		}
		return { steps, seen, times, late, sight };
	},
});
