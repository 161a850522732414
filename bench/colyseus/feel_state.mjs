// The arena of W5. A client is sent the players in its view, which are those that its player sees.
import { schema, t } from "@colyseus/schema";

export const Player = schema({
	x: t.float32(), y: t.float32(), angle: t.float32(), norm: t.float32(), sprite: t.uint16(), health: t.uint16(), cooldown: t.uint16(),
}, "Player");
export const Arena = schema({ players: t.map(Player).view() }, "Arena");
