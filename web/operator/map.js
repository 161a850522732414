// A map of a room: its walls, which seldom change, and its bodies.

export const dialects = ["replica", "stamp", "relay", "duplex", "realm"];

export class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.walls = null;
    this.key = "";
  }

  // draw paints a map. players are those of the room by their numbers.
  draw(map, players) {
    const { canvas } = this, scale = window.devicePixelRatio || 1, side = canvas.clientWidth;
    if (side === 0) return;
    if (canvas.width !== Math.round(side * scale)) canvas.width = canvas.height = Math.round(side * scale);
    const c = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue("--" + name).trim();
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.fillStyle = colour("ground");
    c.fillRect(0, 0, canvas.width, canvas.height);
    this.drawWalls(map, colour("wall"));
    if (this.walls) {
      c.imageSmoothingEnabled = false;
      c.drawImage(this.walls, 0, 0, canvas.width, canvas.height);
    }
    const x = canvas.width / map.width, y = canvas.height / map.height;
    for (const own of [false, true]) { // players are above all else
      for (const b of map.bodies) {
        if (b.player > 0 !== own) continue;
        const p = own ? players.get(b.player) : null;
        c.fillStyle = colour(p && dialects.includes(p.dialect) ? p.dialect : own ? "text" : "soft");
        const r = (own ? 3 : 1.5) * scale;
        c.beginPath();
        c.arc((b.x - map.x) * x, canvas.height - (b.y - map.y) * y, r, 0, 7);
        c.fill();
      }
    }
  }

  // drawWalls makes a picture of the walls, once for each that there is.
  drawWalls(map, colour) {
    const key = map.walls + colour;
    if (key === this.key || !map.columns || !map.rows) return;
    this.key = key;
    const bits = atob(map.walls);
    this.walls = document.createElement("canvas");
    this.walls.width = map.columns;
    this.walls.height = map.rows;
    const c = this.walls.getContext("2d");
    c.fillStyle = colour;
    for (let i = 0; i < map.columns * map.rows; i++) {
      if (bits.charCodeAt(i >> 3) >> (i & 7) & 1) c.fillRect(i % map.columns, map.rows - 1 - Math.floor(i / map.columns), 1, 1);
    }
  }
}
