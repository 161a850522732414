// All clients of a room, in one process.
import { Client } from "@colyseus/sdk";
import { obey, since } from "./ask.mjs";
import { State } from "./state.mjs";

const rooms = [];
let got = 0, late = [];

// joining is how many clients connect at a time.
const joining = 10;

// reading is which of them read what they are sent. All others count it: a hundred clients
// that read everything keep one core busy, which is not to be measured.
const reading = 10;

// count has a room do nothing with what comes.
function count(room) {
	room.connection.events.onmessage = () => { got++; };
}

// watch looks at another thing each time that the room is told of.
function watch(room, objects) {
	let times = 0;
	room.onStateChange((state) => {
		const thing = state.things[++times % objects];
		got++;
		late.push(Math.round(since(thing.x) * 1e6));
	});
}

obey({
	async join(w) {
		const client = new Client(`ws://${w.addr}`);
		while (rooms.length < w.clients) {
			const some = Math.min(joining, w.clients - rooms.length);
			rooms.push(...await Promise.all(Array.from({ length: some }, () => client.joinOrCreate("field", {}, State))));
		}
		rooms.forEach((room, i) => i % reading ? count(room) : watch(room, w.objects));
	},
	async watch(w) {
		got = 0;
		late = [];
		await new Promise((resolve) => setTimeout(resolve, w.for / 1e6));
		return { got, late };
	},
});
