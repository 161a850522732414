package program

import (
	"encoding/base64"
	"math"
	"sync"
	"time"

	front "parley"
	"parley/play/gateway"
	"parley/web"
	"parley/world"
)

// Bounds of maps: what a look at a room costs the room, which has no tick meanwhile, and what the answers hold.
const (
	mapFresh  = time.Second      // for how long a map is shown again
	wallFresh = 20 * time.Second // for how long its walls are, if the section stays

	mapBodies   = 1000   // in an answer
	mapEntities = 20_000 // that are looked at
	mapPlaces   = 128    // columns, and rows, of the walls
	mapBand     = 8      // rows that are asked for between two ticks
	mostMapped  = 1024   // cells that a section is wide, and high: the arena
	leastMapped = 64
	maxMaps     = 64 // rooms whose maps are kept
)

// atlas keeps the maps of rooms, so that all who look at one cost the room a single look a second.
type atlas struct {
	mu   sync.Mutex
	maps map[string]*sheet
}

// sheet is the map of a room. mu is held while it is made: others wait for it and take it.
type sheet struct {
	mu     sync.Mutex
	made   time.Time
	walled time.Time
	shown  web.Map
	used   time.Time // guarded by atlas.mu
}

// of returns the sheet of a room, in place of the one that was not asked for the longest.
func (a *atlas) of(room string, now time.Time) *sheet {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.maps == nil {
		a.maps = map[string]*sheet{}
	}
	s := a.maps[room]
	if s == nil {
		if len(a.maps) >= maxMaps {
			oldest := ""
			for name, other := range a.maps {
				if oldest == "" || other.used.Before(a.maps[oldest].used) {
					oldest = name
				}
			}
			delete(a.maps, oldest)
		}
		s = &sheet{}
		a.maps[room] = s
	}
	s.used = now
	return s
}

// Map returns where things are in a room.
func (o *operator) Map(room string) (web.Map, error) {
	s := o.atlas.of(room, time.Now())
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.made.IsZero() || now.Sub(s.made) >= mapFresh {
		if err := s.draw(o.server, room, now); err != nil {
			s.made = time.Time{}
			return web.Map{}, refusal(err, 0)
		}
	}
	return s.shown, nil
}

// draw looks at a room: once for its bodies, and now and then for its walls.
func (s *sheet) draw(server *front.Server, room string, now time.Time) error {
	m := web.Map{Kinds: []string{}, Bodies: []web.MapBody{}}
	var all []web.MapBody
	err := server.View(room, func(w *world.World) { m.Tick, all = w.Tick(), bodiesOf(w, &m) })
	if err != nil {
		return err
	}
	frameOf(&m, all, &s.shown)
	for i, step := 0, max(1, (len(all)+mapBodies-1)/mapBodies); i < len(all); i += step {
		m.Bodies = append(m.Bodies, all[i])
	}
	if was := &s.shown; was.X == m.X && was.Y == m.Y && was.Width == m.Width && was.Height == m.Height && now.Sub(s.walled) < wallFresh {
		m.Columns, m.Rows, m.Walls = was.Columns, was.Rows, was.Walls
	} else if err := wall(server, room, &m); err != nil {
		return err
	} else {
		s.walled = now
	}
	s.shown, s.made = m, now
	return nil
}

// bodiesOf copies where the bodies are.
func bodiesOf(w *world.World, m *web.Map) (all []web.MapBody) {
	places := map[int]int{}
	for _, k := range w.Schema().Kinds {
		if k.HasBody {
			places[k.Number] = len(m.Kinds)
			m.Kinds = append(m.Kinds, k.Name)
		}
	}
	owners := map[world.ID]uint16{}
	for p := range w.Players() {
		owners[p.Entity] = uint16(p.ID)
	}
	looked := 0
	for id, k := range w.Entities() {
		if looked++; looked > mapEntities {
			break
		}
		if b := w.Body(id); b != nil && !math.IsInf(b.X, 0) && !math.IsInf(b.Y, 0) {
			all = append(all, web.MapBody{X: round(b.X), Y: round(b.Y), Kind: places[k.Number], Player: owners[id]})
		}
	}
	m.Total = len(all)
	return all
}

// round leaves a tenth of a cell.
func round(v float64) float64 { return math.Round(v*10) / 10 }

// frameOf chooses the section: that of before while the bodies are in it and fill it, so that a map stands still. It is a square around the middle
// of the bodies, wide enough for all of them up to mostMapped.
func frameOf(m *web.Map, all []web.MapBody, was *web.Map) {
	if len(all) == 0 {
		m.X, m.Y, m.Width, m.Height = -leastMapped/2, -leastMapped/2, leastMapped, leastMapped
		if was.Width > 0 {
			m.X, m.Y, m.Width, m.Height = was.X, was.Y, was.Width, was.Height
		}
		return
	}
	left, right, low, high := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, b := range all {
		left, right, low, high = min(left, b.X), max(right, b.X), min(low, b.Y), max(high, b.Y)
	}
	if wide := max(right-left, high-low); was.Width > 0 && left >= was.X && low >= was.Y && right <= was.X+was.Width && high <= was.Y+was.Height && (wide > was.Width/4 || was.Width <= leastMapped) {
		m.X, m.Y, m.Width, m.Height = was.X, was.Y, was.Width, was.Height
		return
	}
	const grid = 16 // so that a section is seldom another
	side := float64(leastMapped)
	for side < max(right-left, high-low)+2*grid && side < mostMapped {
		side *= 2
	}
	m.X, m.Y = math.Round(((left+right)/2-side/2)/grid)*grid, math.Round(((low+high)/2-side/2)/grid)*grid
	m.Width, m.Height = side, side
}

// wall samples what is solid, a few rows at a time: the room has its ticks between them.
func wall(server *front.Server, room string, m *web.Map) error {
	m.Columns, m.Rows = mapPlaces, mapPlaces
	bits := make([]byte, (mapPlaces*mapPlaces+7)/8)
	for from := 0; from < mapPlaces; from += mapBand {
		err := server.View(room, func(w *world.World) {
			for i := from * mapPlaces; i < (from+mapBand)*mapPlaces; i++ {
				x := m.X + (float64(i%mapPlaces)+.5)*m.Width/mapPlaces
				y := m.Y + (float64(i/mapPlaces)+.5)*m.Height/mapPlaces
				if !w.Passable(x, y) {
					bits[i/8] |= 1 << (i % 8)
				}
			}
		})
		if err != nil {
			return err
		}
	}
	m.Walls = base64.StdEncoding.EncodeToString(bits)
	return nil
}

// Pulse is how ticks went so far.
func (o *operator) Pulse() web.Pulse {
	st := o.server.WorldStats()
	return web.Pulse{Players: st.Players, Late: st.LateTicks, Times: tickTimes{st.TickTimes}}
}

// tickTimes is how long ticks took so far.
type tickTimes struct{ gateway.Times }

// Since is of the ticks since an earlier one.
func (t tickTimes) Since(before web.TickTimes) (p50, p99 float64) {
	d := t.Times.Since(before.(tickTimes).Times)
	return milliseconds(d.Quantile(.5)), milliseconds(d.Quantile(.99))
}
