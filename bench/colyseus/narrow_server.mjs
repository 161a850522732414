// The server of W6: walkers who all move in every tick, a player who is steered, and chat.
import { Room, Server, matchMaker } from "@colyseus/core";
import { WebSocketTransport } from "@colyseus/ws-transport";
import { ArraySchema, MapSchema } from "@colyseus/schema";
import { freePort, obey, paced } from "./ask.mjs";
import { millis, Walker, World } from "./narrow_state.mjs";

let given = null;

const newWalker = () => Object.assign(new Walker(), { x: 0, y: 0, angle: 0, norm: 1 });

class Field extends Room {
	onCreate() {
		this.state = new World();
		this.state.walkers ??= new ArraySchema();
		this.state.players ??= new MapSchema();
		this.seatReservationTimeout = 60;
		this.patchRate = null; // the tick says when
		this.ticks = 0;
		for (let i = 0; i < given.walkers; i++) this.state.walkers.push(newWalker());
		this.onMessage("steer", (client, { angle, norm }) => Object.assign(this.state.players.get(client.sessionId), { angle, norm }));
		this.onMessage("chat", (client, text) => this.broadcast("chat", text));
		paced(given.rate, () => this.tick());
	}

	onJoin(client) { this.state.players.set(client.sessionId, newWalker()); }
	onLeave(client) { this.state.players.delete(client.sessionId); }

	tick() {
		const x = millis(), n = ++this.ticks;
		this.state.walkers.forEach((w, i) => {
			w.x = x;
			w.y = n % 1000 + i / 128;
			w.angle = n % 800 / 128 - 3;
		});
		this.state.players.forEach((p) => { p.x += p.norm * Math.cos(p.angle); p.y += p.norm * Math.sin(p.angle); });
		this.broadcastPatch();
	}
}

obey({
	async listen(w) {
		given = w;
		const port = await freePort(w.host);
		const server = new Server({ transport: new WebSocketTransport({ pingInterval: 0 }), greet: false });
		server.define("field", Field);
		await server.listen(port, w.host);
		await matchMaker.createRoom("field", {});
		return `${w.host}:${port}`;
	},
});
