// The world of W6: walkers that all move in every tick, and players.
import { schema, t } from "@colyseus/schema";

export const Walker = schema({ x: t.float32(), y: t.float32(), angle: t.float32(), norm: t.float32() }, "Walker");
export const World = schema({ walkers: t.array(Walker), players: t.map(Walker) }, "World");

// millis is the time that the x of a walker tells: whole milliseconds of a cycle, as many as a float32 holds.
const cycle = 2 ** 23;
export const millis = () => Math.round(performance.timeOrigin + performance.now()) % cycle;
export const ago = (x) => (millis() - x + cycle) % cycle;
