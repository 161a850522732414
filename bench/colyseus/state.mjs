import { ArraySchema, Schema, defineTypes } from "@colyseus/schema";

export class Thing extends Schema {}
defineTypes(Thing, { x: "float32", y: "float32" });

export class State extends Schema {
	constructor() {
		super();
		this.things = new ArraySchema();
	}
}
defineTypes(State, { things: [Thing] });
