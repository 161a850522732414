// What an operator can do. What cannot be undone comes after a question.

import { call, room } from "./api.js";
import { ask } from "./dialogs.js";
import { host } from "./format.js";
import { store } from "./store.js";

export function kick(p) {
  ask({
    title: "Kick this player?", named: p.name,
    warning: `Player ${p.id} of ${p.room} is removed at once and told why. It may come back.`,
    fields: [{ id: "reason", label: "Reason, which the player reads", most: 255 }],
    yes: "Kick", danger: true, done: "The player was kicked.",
    act: ({ reason }) => {
      if (![...store.players.values()].some((o) => o.key === p.key)) throw new Error("The player has left already.");
      return call("DELETE", `${room(p.room)}/players/${p.id}`, reason ? { reason } : undefined);
    },
  });
}

const times = [["3600", "an hour"], ["86400", "a day"], ["2592000", "30 days"], ["", "for ever"]];

// ban bans an address, or an account, in all dialects.
export function ban(p, after) {
  const address = p ? host(p.address) : "";
  const same = p ? [...store.players.values()].filter((o) => host(o.address) === address).length : 0;
  ask({
    title: p ? "Ban this player's address?" : "Ban an address, a network or an account?", named: p ? p.name : undefined,
    warning: same > 1 ? `${same} players have this address, and all of them are removed.` : "Whoever it concerns is removed at once, in all rooms and dialects, and cannot come back.",
    fields: [
      { id: "address", label: "Address or network", value: address, placeholder: "203.0.113.7 or 203.0.113.0/24" },
      { id: "account", label: "or account", value: "" },
      { id: "time", label: "For", kind: "select", options: times, value: "86400" },
      { id: "reason", label: "Reason, which the players read", most: 255 },
    ],
    yes: "Ban", danger: true, done: "The ban holds.",
    act: async ({ address, account, time, reason }) => {
      const body = {};
      if (address) body.address = address;
      if (account) body.account = account;
      if (reason) body.reason = reason;
      if (time) body.until = new Date(Date.now() + 1000 * Number(time)).toISOString();
      await call("POST", "/v1/bans", body);
      if (after) after();
    },
  });
}

export function lift(b, after) {
  ask({
    title: "Lift this ban?", named: b.address || b.account, yes: "Lift it", done: "The ban is lifted.",
    act: async () => {
      await call("DELETE", "/v1/bans", b.address ? { address: b.address } : { account: b.account });
      after();
    },
  });
}

export function say(inRoom = "") {
  ask({
    title: "Say to players",
    fields: [
      { id: "text", label: "Text", required: true, most: 512 },
      { id: "room", label: "In", kind: "select", value: inRoom, options: [["", "all rooms"], ...[...store.rooms.keys()].map((n) => [n, n])] },
    ],
    yes: "Say", done: "It was said.",
    act: ({ text, room }) => call("POST", "/v1/say", room ? { text, room } : { text }),
  });
}

export function open() {
  ask({
    title: "Open a room",
    fields: [
      { id: "name", label: "Name", required: true, most: 32, placeholder: "a-z, 0-9 and -" },
      { id: "mode", label: "Mode, which the game reads", most: 255 },
      { id: "most", label: "Most players", kind: "number", placeholder: "that of the server" },
      { id: "seed", label: "Seed", placeholder: "0" },
      { id: "idle", label: "Closes when empty for", kind: "select", value: "", options: [["", "a minute"], ["600", "ten minutes"], ["3600", "an hour"], ["-1", "never"]] },
      { id: "open", label: "Anybody may enter, without a ticket", kind: "checkbox", value: true },
      { id: "accounts", label: "Accounts that may enter although it is not open", placeholder: "ann, ben", most: 4096 },
    ],
    yes: "Open", done: "The room is open.",
    act: ({ name, mode, most, seed, idle, open, accounts }) => {
      const body = { name, open };
      if (mode) body.mode = mode;
      if (most) body.max_players = Number(most);
      if (seed) body.seed = seed;
      if (idle) body.idle = Number(idle);
      if (accounts) body.accounts = accounts.split(",").map((a) => a.trim()).filter(Boolean);
      return call("POST", "/v1/rooms", body);
    },
  });
}

export function close(r) {
  ask({
    title: "Close this room?", named: r.name,
    warning: `Its ${r.players} players are told and have to leave, and what happened in it is gone. This cannot be undone.`,
    yes: "Close the room", danger: true, done: "The room is closed.",
    act: () => call("DELETE", room(r.name)),
  });
}

// drain ends a node of the cluster, whose rooms and players go on at others.
export function drain(n) {
  ask({
    title: "Drain this node, and end it?", named: n.name || n.node,
    warning: `Other nodes make the entries of its rooms, and its ${n.players} players go on there. Then its process ends.`,
    yes: "Drain", danger: true, done: "The node is draining.",
    act: () => call("POST", "/v1/cluster/drain", { node: n.node }),
  });
}

// move has another node make the entries of a room. Players stay where they are.
export function move(r, nodes, from) {
  const others = nodes.filter((n) => n.node !== r.sequencer && !n.draining && r.stages.some((s) => s.node === n.node));
  ask({
    title: "Have another node make this room's entries?", named: r.room,
    warning: others.length ? `Now ${from} does. Players stay where they are connected, and see a pause of a moment.` : "No other node runs it: a node does while it has players of the room.",
    fields: [{ id: "node", label: "Node", kind: "select", options: others.map((n) => [n.node, n.name || n.node]) }],
    yes: "Move", done: "The room was moved.",
    act: ({ node }) => call("POST", "/v1/cluster/move", { room: r.room, node }),
  });
}
