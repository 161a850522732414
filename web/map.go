package web

// Map is where things are in a room: a sample of its bodies, and its walls.
type Map struct {
	Tick   uint64  `json:"tick" doc:"of which tick it is"`
	X      float64 `json:"x" doc:"the left edge of the section that is shown, in cells"`
	Y      float64 `json:"y" doc:"the lower edge"`
	Width  float64 `json:"width" doc:"how many cells wide it is"`
	Height float64 `json:"height" doc:"how many cells high it is"`

	Columns int    `json:"columns" doc:"how many places a row of the walls has"`
	Rows    int    `json:"rows" doc:"how many rows the walls have, from the lower edge up"`
	Walls   string `json:"walls" doc:"base64 of a bit for each place, row by row, the lowest bit of a byte first: 1 is solid in its middle"`

	Kinds  []string  `json:"kinds" doc:"the kinds of bodies"`
	Bodies []MapBody `json:"bodies" doc:"at most 1,000, evenly chosen if there are more"`
	Total  int       `json:"total" doc:"how many bodies there are, counted up to 20,000"`
}

// MapBody is a body on a map.
type MapBody struct {
	X      float64 `json:"x" doc:"where it is, in cells"`
	Y      float64 `json:"y" doc:"and how high"`
	Kind   int     `json:"kind" doc:"the place of its kind in the list of kinds"`
	Player uint16  `json:"player" doc:"the number of the player whose own entity it is; 0 if it is nobody's"`
}
