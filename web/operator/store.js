// What is known of the server, from the stream.

const mostPoints = 300, mostLines = 500;

export const store = {
  server: null,
  players: new Map(), // by key
  rooms: new Map(), // by name
  log: [],
  logged: 0, // lines so far, also those that were let go
  points: [],
  live: null,
  changed: 0, // grows when players come or go, or are others than before
};

export function clear() {
  store.players.clear();
  store.rooms.clear();
  Object.assign(store, { server: null, log: [], logged: 0, points: [], live: null, changed: store.changed + 1 });
}

// take takes the event live.
export function take(live) {
  const { players, rooms } = store;
  if (live.full) {
    players.clear();
    rooms.clear();
    store.log = [];
    store.logged = 0;
    store.changed++;
  }
  for (const p of live.people) {
    p.at = Date.parse(p.since);
    p.low = (p.name + "\n" + p.room + "\n" + p.address + "\n" + p.dialect + "/" + p.carrier).toLowerCase();
    players.set(p.key, p);
  }
  for (const n of live.numbers) {
    const p = players.get(n.key);
    if (p) Object.assign(p, n);
  }
  for (const key of live.gone) players.delete(key);
  if (live.people.length + live.gone.length > 0) store.changed++;
  for (const r of live.room_list) rooms.set(r.name, r);
  for (const name of live.rooms_gone) rooms.delete(name);
  store.log.push(...live.log);
  store.logged += live.log.length;
  if (store.log.length > mostLines) store.log.splice(0, store.log.length - mostLines);
  addPoint(live.point);
  store.live = live;
}

function addPoint(p) {
  const last = store.points[store.points.length - 1];
  p.at = Date.parse(p.time);
  if (p.at > 0 && (!last || p.at > last.at)) {
    store.points.push(p);
    if (store.points.length > mostPoints) store.points.shift();
  }
}

export function takeHistory(points) {
  for (const p of points) p.at = Date.parse(p.time);
  const last = points.length ? points[points.length - 1].at : 0;
  store.points = [...points, ...store.points.filter((p) => p.at > last)].slice(-mostPoints);
}

// inRoom returns the players of a room by their numbers.
export function byRoom() {
  const rooms = new Map();
  for (const p of store.players.values()) {
    let room = rooms.get(p.room);
    if (!room) rooms.set(p.room, room = new Map());
    room.set(p.id, p);
  }
  return rooms;
}
