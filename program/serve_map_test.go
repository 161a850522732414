package program

import (
	"testing"

	"parley/internal/kit/chance"
	"parley/web"
)

// However the players of the arena have spread, its map has all of them.
func TestTheMapHasTheWholeArena(t *testing.T) {
	r := chance.Rand(t, 1)
	place := func() float64 { return r.Float64()*1000 - 500 }
	for range 50 {
		var m, was web.Map
		for range 20 {
			var all []web.MapBody
			for range 1 + r.IntN(60) {
				all = append(all, web.MapBody{X: place(), Y: place()})
			}
			frameOf(&m, all, &was)
			for _, b := range all {
				if b.X < m.X || b.Y < m.Y || b.X > m.X+m.Width || b.Y > m.Y+m.Height {
					t.Fatalf("%v, %v is not on the map, which is %v wide from %v, %v", b.X, b.Y, m.Width, m.X, m.Y)
				}
			}
			was = m
		}
	}
}
