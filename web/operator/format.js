// Numbers for people.

const whole = new Intl.NumberFormat("en");

export const count = (n) => whole.format(Math.round(n));

export function bytes(n) {
  if (n < 1000) return Math.round(n) + " B";
  for (const unit of ["kB", "MB", "GB", "TB"]) {
    n /= 1000;
    if (n < 1000 || unit === "TB") return n.toFixed(n < 10 ? 1 : 0) + " " + unit;
  }
}

export function ms(n) {
  if (n === 0) return "0 ms";
  if (n < 10) return n.toFixed(2) + " ms";
  return n.toFixed(n < 100 ? 1 : 0) + " ms";
}

export const perSecond = (n) => (n < 10 && n !== 0 ? n.toFixed(1) : count(n)) + "/s";

// rtt is 0 and loss is -1 where they are not known.
export const rtt = (n) => (n > 0 ? ms(n) : "–");
export const loss = (n) => (n < 0 ? "–" : n.toFixed(n > 0 && n < 10 ? 1 : 0) + " %");

export function span(seconds) {
  seconds = Math.max(0, Math.floor(seconds));
  if (seconds < 60) return seconds + " s";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min";
  if (seconds < 86400) return Math.floor(seconds / 3600) + " h " + Math.floor(seconds % 3600 / 60) + " min";
  return Math.floor(seconds / 86400) + " d " + Math.floor(seconds % 86400 / 3600) + " h";
}

export const clock = (date) => date.toLocaleTimeString("en-GB");

// host is an address without its port.
export function host(address) {
  const at = address.lastIndexOf(":");
  return (at < 0 ? address : address.slice(0, at)).replace(/^\[|\]$/g, "");
}
