/** The client library of parley: join a game, and draw world.entities(). */
export { join, World } from "./world.ts"
export type { Acted, AnyGame, Base, Entity, Events, Fate, Game, JoinOptions, Player, PlayerEvent, Server, State } from "./world.ts"
export type { Body, Input, Predict } from "./picture.ts"
export type { Action, Field, Kind, Outline, Quantum, Schema, Value } from "./schema.ts"
export type { Transport } from "./transport.ts"
