import { schema, t } from "@colyseus/schema";

export const Thing = schema({ x: t.float32(), y: t.float32() }, "Thing");
export const State = schema({ things: t.array(Thing) }, "State");
