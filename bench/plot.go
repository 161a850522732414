package main

import (
	"image/color"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// chart is a picture of one figure: bars for each case, or for W1 a line a peer.
type chart struct {
	work, figure string
	title, unit  string
	lines        bool
}

var charts = []chart{
	{"W1", "p99", "W1: 64 bytes echoed over 50 to 60 ms, p99", "ms", true},
	{"W1", "p95", "W1: 64 bytes echoed over 50 to 60 ms, p95", "ms", true},
	{"W2", "rate", "W2: messages of 64 bytes, one connection", "messages/s", false},
	{"W3", "cpu", "W3: CPU of the server", "% of a core", false},
	{"W3", "resident", "W3: memory a client", "KiB", false},
	{"W4", "cpu", "W4: CPU of the server, 100 clients and 100 objects", "% of a core", false},
	{"W4", "bytes", "W4: bytes an object-tick", "bytes", false},
	{"W5", "p99", "W5: from asking for a direction to seeing it, 200 players, p99", "ms", false},
}

// writePlots draws what was measured into a directory: W1-p99.png and so on.
func writePlots(dir string, r *Report) error {
	for _, c := range charts {
		rows := slices.DeleteFunc(slices.Clone(r.Rows), func(x Row) bool {
			_, ok := x.Figures[c.figure]
			return x.Work != c.work || !ok
		})
		if len(rows) == 0 {
			continue
		}
		p, err := c.draw(rows)
		if err != nil {
			return err
		}
		if err := p.Save(28*vg.Centimeter, 14*vg.Centimeter, filepath.Join(dir, c.work+"-"+c.figure+".png")); err != nil {
			return err
		}
	}
	return nil
}

// namesOf returns the cases and the peers of rows, in their order.
func namesOf(rows []Row) (cases, names []string) {
	for _, x := range rows {
		if !slices.Contains(cases, x.Case) {
			cases = append(cases, x.Case)
		}
		if !slices.Contains(names, x.Peer) {
			names = append(names, x.Peer)
		}
	}
	return cases, names
}

// colours are ours in blues and greens, others in warm colours and greys.
var (
	ourColours   = []color.Color{rgb(0x08519c), rgb(0x3182bd), rgb(0x31a354), rgb(0x74c476), rgb(0x006d2c), rgb(0x6baed6), rgb(0x9ecae1)}
	otherColours = []color.Color{rgb(0x969696), rgb(0x525252), rgb(0xbdbdbd), rgb(0xd94801), rgb(0xfd8d3c), rgb(0xa63603), rgb(0xde2d26), rgb(0x756bb1), rgb(0xbcbddc), rgb(0x252525)}
)

func rgb(x uint32) color.Color { return color.RGBA{uint8(x >> 16), uint8(x >> 8), uint8(x), 255} }

// colourOf gives a peer the same colour in every plot.
func colourOf(name string) color.Color {
	own, other := 0, 0
	for _, p := range peers {
		switch {
		case p.Name == name && p.Ours:
			return ourColours[own%len(ourColours)]
		case p.Name == name:
			return otherColours[other%len(otherColours)]
		case p.Ours:
			own++
		default:
			other++
		}
	}
	return color.Black
}

func (c chart) draw(rows []Row) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = c.title
	p.Y.Label.Text = c.unit
	p.Y.Min = 0
	p.Legend.Top, p.Legend.Left = true, true
	cases, names := namesOf(rows)
	at := func(kase, name string) (float64, bool) {
		i := slices.IndexFunc(rows, func(x Row) bool { return x.Case == kase && x.Peer == name })
		if i < 0 {
			return 0, false
		}
		return rows[i].Figures[c.figure].Median, true
	}
	if c.lines {
		return p, c.drawLines(p, cases, names, at)
	}
	return p, c.drawBars(p, cases, names, at)
}

// drawLines has a line a peer over the cases.
func (c chart) drawLines(p *plot.Plot, cases, names []string, at func(kase, name string) (float64, bool)) error {
	p.X.Label.Text = "loss"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, milliTicks
	p.Y.Min = 50 // what the path takes
	for _, name := range names {
		var points plotter.XYs
		for i, kase := range cases {
			if y, ok := at(kase, name); ok {
				points = append(points, plotter.XY{X: float64(i), Y: y})
			}
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, dots.Color = colourOf(name), colourOf(name)
		line.Width = vg.Points(1.5)
		p.Add(line, dots)
		p.Legend.Add(name, line, dots)
	}
	p.NominalX(cases...)
	return nil
}

// milliTicks are steps that the eye can read on a logarithmic scale.
var milliTicks = plot.ConstantTicks(func() (ticks []plot.Tick) {
	for _, ms := range []float64{50, 60, 70, 80, 100, 120, 150, 200, 300, 500, 700, 1000, 1500, 2000, 3000, 5000, 10000} {
		ticks = append(ticks, plot.Tick{Value: ms, Label: strconv.Itoa(int(ms))})
	}
	return ticks
}())

// drawBars has a bar a peer and case: peers side by side, cases within them.
func (c chart) drawBars(p *plot.Plot, cases, names []string, at func(kase, name string) (float64, bool)) error {
	width := vg.Points(30 / float64(len(cases)))
	p.Legend.Left = false
	for k, kase := range cases {
		for i, name := range names {
			y, ok := at(kase, name)
			if !ok {
				continue
			}
			values := make(plotter.Values, i+1)
			values[i] = y
			bar, err := plotter.NewBarChart(values, width)
			if err != nil {
				return err
			}
			bar.Color, bar.LineStyle.Width = colourOf(name), 0
			bar.Offset = width * vg.Length(float64(k)-float64(len(cases)-1)/2)
			p.Add(bar)
		}
	}
	if len(cases) > 1 {
		p.X.Label.Text = "left to right: " + strings.Join(cases, ", ")
	}
	labels := make([]string, len(names))
	for i, name := range names {
		labels[i] = strings.ReplaceAll(name, " ", "\n")
	}
	p.NominalX(labels...)
	p.X.Min, p.X.Max = -.7, float64(len(names))-.3
	return nil
}
