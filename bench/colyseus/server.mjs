// The server of a room: it moves all things in every tick, and broadcasts the patch.
import { Room, Server, matchMaker } from "@colyseus/core";
import { WebSocketTransport } from "@colyseus/ws-transport";
import { ArraySchema } from "@colyseus/schema";
import { clock, freePort, obey, paced } from "./ask.mjs";
import { State, Thing } from "./state.mjs";

let objects = 0, rate = 0, ticks = 0, room = null;

class Field extends Room {
	onCreate() {
		this.state = new State();
		this.state.things ??= new ArraySchema();
		this.maxClients = 1000;
		this.seatReservationTimeout = 60; // on a busy machine all join slowly
		this.patchRate = null; // we say when
		for (let i = 0; i < objects; i++) {
			const thing = new Thing();
			thing.x = 0;
			thing.y = 0;
			this.state.things.push(thing);
		}
		room = this;
	}

	start() {
		paced(rate, () => this.tick());
	}

	tick() {
		const x = clock();
		this.state.things.forEach((thing, i) => {
			thing.x = x;
			thing.y = ticks % 1000 + i / 128;
		});
		this.broadcastPatch();
		ticks++;
	}
}

// sentBytes is what went into the sockets of all clients, WebSocket's headers included.
const sentBytes = () => {
	let n = 0;
	room?.clients.forEach((c) => { n += c.ref._socket?.bytesWritten ?? 0; });
	return n;
};

obey({
	async listen(w) {
		objects = w.objects;
		rate = w.rate;
		const port = await freePort("127.0.0.1");
		const server = new Server({ transport: new WebSocketTransport({ pingInterval: 0 }), greet: false });
		server.define("field", Field);
		await server.listen(port, "127.0.0.1");
		await matchMaker.createRoom("field", {});
		return `127.0.0.1:${port}`;
	},
	start() {
		room.start();
	},
	sent() {
		const { user, system } = process.cpuUsage();
		return { ticks, bytes: sentBytes(), cpu: { user: user * 1000, system: system * 1000 } };
	},
});
