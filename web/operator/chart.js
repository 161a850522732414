// Charts over the last ten minutes, on a canvas.

import { el, set } from "./dom.js";

const minutes = 10;

export class Chart {
  // lines are {label, of(point), colour}: colours are names of custom properties.
  constructor(id, title, format, lines) {
    Object.assign(this, { id, format, lines, key: "" });
    this.canvas = el("canvas", { role: "img" });
    this.values = lines.map(() => el("b"));
    this.node = el("figure", { id: "chart-" + id, className: "chart" },
      el("figcaption", {}, el("span", { className: "title" }, title),
        ...lines.map((l, i) => el("span", { className: "legend " + l.colour }, l.label + " ", this.values[i]))),
      this.canvas);
    this.title = title;
  }

  draw(points) {
    const { canvas } = this;
    const width = canvas.clientWidth, height = canvas.clientHeight, scale = window.devicePixelRatio || 1;
    if (width === 0) return;
    const last = points[points.length - 1];
    this.lines.forEach((l, i) => set(this.values[i], last ? this.format(l.of(last)) : "–"));
    const key = `${width} ${height} ${scale} ${last ? last.at : 0} ${points.length} ${matchMedia("(prefers-color-scheme: dark)").matches}`;
    if (key === this.key) return;
    this.key = key;
    canvas.width = width * scale;
    canvas.height = height * scale;
    const c = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue("--" + name).trim();
    c.scale(scale, scale);
    let top = 0;
    for (const p of points) for (const l of this.lines) top = Math.max(top, l.of(p));
    top = nice(top);
    const bottom = height - 16, right = width - 4, now = last ? last.at : 0;
    const x = (at) => right - (now - at) / (minutes * 60000) * (right - 4), y = (v) => bottom - v / top * (bottom - 14);
    c.font = "11px system-ui, sans-serif";
    c.strokeStyle = colour("line");
    c.fillStyle = colour("soft");
    c.lineWidth = 1;
    for (const part of [0, .5, 1]) {
      c.beginPath();
      c.moveTo(4, Math.round(y(part * top)) + .5);
      c.lineTo(right, Math.round(y(part * top)) + .5);
      c.stroke();
      if (part > 0) c.fillText(this.format(part * top), 4, y(part * top) - 3);
    }
    c.fillText("10 min", 4, height - 3);
    c.fillText("now", right - 22, height - 3);
    for (const l of this.lines) {
      c.strokeStyle = colour(l.colour);
      c.lineWidth = 1.5;
      c.lineJoin = "round";
      c.beginPath();
      let before = -Infinity;
      for (const p of points) {
        if (p.at - before > 10000) c.moveTo(x(p.at), y(l.of(p))); // nobody has counted in between
        else c.lineTo(x(p.at), y(l.of(p)));
        before = p.at;
      }
      c.stroke();
    }
    canvas.setAttribute("aria-label", `${this.title}, last ten minutes: ` + this.lines.map((l) => `${l.label} ${last ? this.format(l.of(last)) : "unknown"}`).join(", "));
  }
}

// nice is a round number that is not below v.
function nice(v) {
  if (!(v > 0)) return 1;
  const step = 10 ** Math.floor(Math.log10(v));
  return [1, 2, 5, 10].map((n) => n * step).find((n) => n >= v * .999);
}
