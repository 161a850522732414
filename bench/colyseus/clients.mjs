// All clients of a room, in one process.
import { Client } from "@colyseus/sdk";
import { clock, cycle, obey } from "./ask.mjs";
import { State } from "./state.mjs";

const rooms = [];
let got = 0, late = [];

obey({
	async join(w) {
		const client = new Client(`ws://${w.addr}`);
		for (let i = 0; i < w.clients; i++) {
			const room = await client.joinOrCreate("field", {}, State);
			let times = 0;
			room.onStateChange((state) => {
				const thing = state.things[++times % w.objects];
				got++;
				late.push(Math.round(((clock() - thing.x + 2 * cycle) % cycle) * 1e6));
			});
			rooms.push(room);
		}
	},
	async watch(w) {
		got = 0;
		late = [];
		await new Promise((resolve) => setTimeout(resolve, w.for / 1e6));
		return { got, late };
	},
});
