// Colours, for a dark and a light screen. The canvas takes them from the style sheet, so that there is one list.

const names = ["floor", "card", "line", "text", "faint", "mine", "bad", "good", "replica", "stamp", "relay", "duplex", "realm"]
const light = matchMedia("(prefers-color-scheme: light)")

/** colours are those of now. */
export const colours = {}

function read() {
  const style = getComputedStyle(document.documentElement)
  for (const name of names) colours[name] = style.getPropertyValue("--" + name).trim()
  colours.wall = light.matches ? "#b9b1a0" : "#39445c"
  colours.edge = light.matches ? "#8d8470" : "#56648a"
  colours.unknown = light.matches ? "#e4dfd3" : "#0c0f16"
  colours.dot = light.matches ? "#d9d3c5" : "#232b3a"
  colours.ball = light.matches ? "#a03024" : "#ffb3a8"
}
read()
light.addEventListener("change", read)

/** dialects are the protocols by which players are here. */
export const dialects = ["replica", "stamp", "relay", "duplex", "realm"]

/** colourOf returns the colour of a dialect. */
export const colourOf = dialect => dialects.includes(dialect) ? colours[dialect] : colours.faint
