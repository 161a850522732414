// The server of W5: players walk about a square, and in every tick each is sent those in its sight.
import { Room, Server, matchMaker } from "@colyseus/core";
import { WebSocketTransport } from "@colyseus/ws-transport";
import { MapSchema, StateView } from "@colyseus/schema";
import { freePort, obey, paced } from "./ask.mjs";
import { Arena, Player } from "./feel_state.mjs";

const side = 1024;
const within = (x) => Math.min(Math.max(x, 0), side);
let given = null;

class Field extends Room {
	onCreate() {
		this.state = new Arena();
		this.state.players ??= new MapSchema();
		this.maxClients = given.players;
		this.seatReservationTimeout = 60;
		this.patchRate = null; // the tick says when
		this.onMessage("steer", (client, { angle, norm }) => Object.assign(client.own, { angle, norm }));
		paced(given.rate, () => this.tick());
	}

	onJoin(client) {
		client.own = Object.assign(new Player(), {
			x: Math.random() * side, y: Math.random() * side, angle: 0, norm: 0, sprite: 1, health: 100, cooldown: 0,
		});
		this.state.players.set(client.sessionId, client.own);
		client.view = new StateView();
		client.view.add(client.own);
		client.seen = new Set([client.own]);
	}

	onLeave(client) {
		this.clients.forEach((c) => c.seen?.delete(client.own));
		this.state.players.delete(client.sessionId);
	}

	tick() {
		const players = [...this.state.players.values()];
		for (const p of players) {
			p.x = within(p.x + p.norm * Math.cos(p.angle));
			p.y = within(p.y + p.norm * Math.sin(p.angle));
		}
		const far = given.sight ** 2;
		for (const { own, view, seen } of this.clients) {
			if (!own) continue;
			for (const p of players) {
				const near = (p.x - own.x) ** 2 + (p.y - own.y) ** 2 <= far;
				if (near === seen.has(p)) continue;
				if (near) { seen.add(p); view.add(p); } else { seen.delete(p); view.remove(p); }
			}
		}
		this.broadcastPatch();
	}
}

obey({
	async arena(w) {
		given = w;
		const port = await freePort(w.host);
		const server = new Server({ transport: new WebSocketTransport({ pingInterval: 0 }), greet: false });
		server.define("field", Field);
		await server.listen(port, w.host);
		await matchMaker.createRoom("field", {});
		return `${w.host}:${port}`;
	},
});
