// Texts of strangers, as they may be shown: in one line, in one direction, without what stacks or hides.

/** plain returns a text without control and direction characters and without heaps of marks, of at most `most` characters. */
export function plain(text, most = 200) {
  const clean = String(text ?? "").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/gu, "·").replace(/(\p{M}{2})\p{M}+/gu, "$1")
  const list = Array.from(clean)
  return list.length > most ? list.slice(0, most - 1).join("") + "…" : clean
}

/** el returns the element with an id. */
export const el = id => document.getElementById(id)

/** make returns a new element with a class and a text. */
export function make(tag, className = "", text = "") {
  const e = document.createElement(tag)
  if (className) e.className = className
  if (text) e.textContent = text
  return e
}

/** set changes a text if it is another, so that screen readers do not read it again. */
export function set(e, text) {
  if (e.textContent !== text) e.textContent = text
}

/** touch reports whether the player has a touch screen and no mouse. */
export const touch = matchMedia("(pointer: coarse)").matches || new URLSearchParams(location.search).has("touch")
