// Built from sdk/ts: do not edit.
export interface Quantum {
    step: number;
    low: number;
    high: number;
    around?: boolean;
}
export interface Field {
    name: string;
    path: (string | number)[];
    type: string;
    wire: string;
    max_bytes?: number;
    quantum?: Quantum;
}
export interface Kind {
    name: string;
    body: boolean;
    max_speed?: number;
    fields: Field[];
}
export interface Action {
    name: string;
    fields: Field[];
}
export interface Outline {
    radius?: number;
    width?: number;
    height?: number;
}
export interface Schema {
    game: string;
    fingerprint: string;
    kinds: Kind[];
    actions: Action[];
    /** The values of cells that stop bodies, and the outlines of sprites by number. */
    solid?: number[];
    hitboxes?: Outline[];
}
export type Value = number | bigint | boolean | string;
export type Fate = "lost" | "busy" | "refused" | "over";
export type State = "connecting" | "playing" | "away" | "ended";
export interface Transport {
    readonly name: string;
    /** It may lose datagrams, so that copies ahead of loss are of use. */
    readonly lossy: boolean;
    /** The greatest datagram. */
    readonly maxPacket: number;
    onmessage: (b: Uint8Array) => void;
    onclose: () => void;
    send(b: Uint8Array<ArrayBuffer>): void;
    close(): void;
}
export interface Body {
    x: number;
    y: number;
    heading: number;
    speed: number;
    sprite: number;
    [field: string]: any;
}
export interface Input {
    tick: number;
    /** How the player steers from this tick on, if that has changed. */
    steer?: {
        angle: number;
        norm: number;
    };
    /** The actions of this tick. */
    actions: {
        name: string;
        params: Record<string, unknown>;
    }[];
    /** Moves a body by its speed up to what stops it, as the server does. It returns true if something did. */
    move(b: Body): boolean;
}
export type Predict = (body: Body, input: Input) => void;
interface Member {
    name: string;
    id: number;
    away: boolean;
    dialect?: string;
    carrier?: string;
}
interface Stats {
    fates: number;
    wrong: number;
    large: number;
    snapped: number;
    margin: number;
}
export interface Game {
    fingerprint: string;
    kinds: object;
    actions: object;
}
export interface AnyGame {
    fingerprint: string;
    kinds: Record<string, Record<string, any>>;
    actions: Record<string, Record<string, any>>;
}
export interface Base {
    /** The number of the entity. It keeps it while it lives. */
    id: number;
    /** It is the player's own. */
    own: boolean;
    /** With a body: where it is, in cells, y up; where it looks, in radians from x towards y; its speed, in cells a tick; its sprite. */
    x: number;
    y: number;
    heading: number;
    speed: number;
    sprite: number;
    /** The player whose own entity it is, unless its kind has fields of these names. */
    name?: string;
    dialect?: string;
}
export type Entity<G extends Game = AnyGame> = string extends keyof G["kinds"] ? Base & {
    kind: string;
    [field: string]: any;
} : {
    [K in keyof G["kinds"] & string]: Omit<Base, keyof G["kinds"][K]> & {
        kind: K;
    } & G["kinds"][K];
}[keyof G["kinds"] & string];
export type Player = Member;
export type Acted<G extends Game = AnyGame> = {
    [A in keyof G["actions"] & string]: {
        type: "acted";
        action: A;
        params: G["actions"][A];
        id: number;
        own: boolean;
        name?: string;
        tick: number;
    };
}[keyof G["actions"] & string];
export interface PlayerEvent {
    type: string;
    name: string;
    id: number;
    own: boolean;
    dialect?: string;
}
export interface Events<G extends Game = AnyGame> {
    chat: {
        type: "chat";
        name: string;
        text: string;
    };
    here: PlayerEvent;
    joined: PlayerEvent;
    left: PlayerEvent;
    away: PlayerEvent;
    back: PlayerEvent;
    acted: Acted<G>;
    own: {
        type: "own";
        id: number;
    };
    ended: {
        type: "ended";
        text: string;
        fate: Fate;
    };
    state: {
        type: "state";
        state: State;
        text: string;
    };
    unpredicted: {
        type: "unpredicted";
        text: string;
    };
}
export interface Server {
    game: string;
    fingerprint: string;
    tick_rate: number;
    dialects?: Record<string, unknown>;
    wt?: {
        port: number;
        hashes?: string[];
    };
    schema: Schema;
    [more: string]: unknown;
}
export interface JoinOptions<G extends Game = AnyGame> {
    /** The wanted name. */
    name?: string;
    /** An open room. Default: main. */
    room?: string;
    /** Wait for others who want the same mode, and play with them in a room of their own. */
    match?: string | {
        mode?: string;
        players?: number;
    };
    /** A ticket, in hex or as bytes. */
    ticket?: string | Uint8Array;
    /** world.session of an earlier page: the player goes on where that one stopped. */
    session?: string;
    /** Use only this carrier. Default: WebTransport, and a WebSocket where that does not come through. */
    carrier?: "wt" | "ws";
    /** The game's types and fingerprint, as `parley schema --ts` writes them. A server of another game is an error. */
    game?: G;
    /** How the own entity is predicted: by its speed and walls, by this function, or not at all. */
    predict?: Predict | false;
    onstate?: (state: State, text: string) => void;
    /** For tests: another way to the server. */
    open?: () => Promise<Transport>;
    /** For tests, and for a page that has it already: what /play/server said. */
    server?: Server;
}
export declare class World<G extends Game = AnyGame> {
    readonly server: Server;
    state: State;
    /** session is the token with which the player can come back on another page, "" before the server has told it. */
    session: string;
    /** carrier is what brings the packets: "wt" or "ws". */
    carrier: string;
    constructor(base: string, server: Server, options: JoinOptions<G>);
    /** on calls a listener for each event of a type. It returns a function that ends that. */
    on<T extends keyof Events<G>>(type: T, listener: (ev: Events<G>[T]) => void): () => void;
    /** steer has the own entity move in a direction, in radians, at a number of cells a tick, until the next call. 0 stops it. */
    steer(angle: number, norm: number): void;
    /**
     * act does an action of the game. What is done while the connection is lost is done when it is back, if the player's place was held for so long.
     * It returns false if it cannot be done: too much waits, or the player is out of the game.
     */
    act<A extends keyof G["actions"] & string>(action: A, ...params: {} extends G["actions"][A] ? [params?: G["actions"][A]] : [params: G["actions"][A]]): boolean;
    /** say says a line of chat, of at most 512 bytes of UTF-8. */
    say(text: string): boolean;
    /** stir sends what waits, and sets the timer of the own ticks. */
    /** entities yields what is to be drawn at a time: performance.now(), or what requestAnimationFrame tells. */
    entities(_now?: number): Iterable<Entity<G>>;
    /** schema says what the game is made of: kinds, actions, and what stops bodies. */
    get schema(): Schema;
    /** own is the own entity as it was drawn last; undefined while there is none. */
    get own(): Entity<G> | undefined;
    /** ownId is the number of the own entity, 0 while there is none. */
    get ownId(): number;
    /** name is the name under which the player plays. */
    get name(): string;
    /** players are the players of the room, this one included. */
    get players(): Player[];
    /** terrain is what is known of the cells: at(x, y), and chunk(bx, by) with 256 × 256 of them. What is undefined has been asked for. */
    get terrain(): {
        at(x: number, y: number): number | undefined;
        chunk(bx: number, by: number): Uint8Array | undefined;
        solid(x: number, y: number): boolean;
    };
    /** tickRate is how many ticks a second the world makes; seed and mode are those of the room. */
    get tickRate(): number;
    get seed(): bigint;
    get mode(): string;
    /** rtt is the round trip in ms, and loss the share of the last hundred or so ticks of which the server's packets did not come. Over a WebSocket nothing is lost. */
    get rtt(): number;
    get loss(): number;
    /** ticks says at which tick others are drawn, and at which the own entity, 0 if it is not predicted. */
    get ticks(): {
        others: number;
        own: number;
    };
    /** stats count what was predicted, and how well. */
    get stats(): Stats;
    /** leave ends the game for this player. */
    leave(): void;
    /** start makes the first connection. It is done when the server has let the player in. */
    start(): Promise<void>;
    /** connect opens a connection and enters. It returns how that ended if it did not work out. */
    /** enter does the handshake, shows the pass, and is done when the server has told its world. */
    /** lose notes that the connection is lost, and comes back if that makes sense. */
    /** comeBack tries until the player is there again, or its place is no longer held. */
    /** look asks what the server says of itself, before each dial: the certificates of one that was started again are others. It reports whether it is there. */
}
export declare function join<G extends Game = AnyGame>(url: string, options?: JoinOptions<G>): Promise<World<G>>;
