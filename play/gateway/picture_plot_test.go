package gateway

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"parley/play/picture"
	"parley/simnet"
)

// The plot of docs/client.md: how far the own body is drawn from the server's, over 30 s of one run, with prediction and without. With
// PARLEY_UPDATE=1 it is drawn anew.
func TestThePlotOfThePicture(t *testing.T) {
	if os.Getenv("PARLEY_UPDATE") == "" {
		t.Skip("PARLEY_UPDATE=1 draws docs/plots/client-error.svg")
	}
	const trip, jitter, loss, seed = 100 * time.Millisecond, 20 * time.Millisecond, .05, 1
	path := simnet.Profile{Delay: trip/2 - jitter/2, Jitter: jitter, Loss: loss}
	p := newErrorPlot("own body, replica, round trip 100 ms, jitter 20 ms, loss 5%: cells from the server's")
	for _, run := range []struct {
		c            picture.Config
		name, colour string
	}{
		{picture.Config{NoPrediction: true}, "prediction off: from where the server has it now", "#969696"},
		{picture.Config{}, "prediction on: from where the server has it at the same tick", "#08519c"},
	} {
		v := newViewer(t, "replica", seed, path, 6, run.c)
		v.play(t, 8*time.Second, p.seconds*time.Second)
		p.line(run.name, run.colour, v.errors(v.figures.atFrames))
	}
	if err := os.WriteFile("../../docs/plots/client-error.svg", []byte(p.end()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// errorPlot is a picture of errors over time.
type errorPlot struct {
	strings.Builder
	seconds time.Duration
	lines   int
}

const plotWidth, plotHeight, plotCells = 900, 320, 14

func newErrorPlot(title string) *errorPlot {
	p := &errorPlot{seconds: 30}
	fmt.Fprintf(p, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n", plotWidth, plotHeight+60)
	fmt.Fprintf(p, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<text x=\"40\" y=\"18\">%s</text>\n", title)
	for cells := 0; cells <= plotCells; cells += 2 {
		x, y := p.at(0, float64(cells))
		fmt.Fprintf(p, "<path d=\"M%.0f %.0fH%d\" stroke=\"#ddd\"/><text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%d</text>\n", x, y, plotWidth-10, x-6, y+4, cells)
	}
	for s := 0; s <= int(p.seconds); s += 5 {
		x, y := p.at(float64(s), 0)
		fmt.Fprintf(p, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">%d s</text>\n", x, y+18, s)
	}
	return p
}

// at returns where a time and an error are in the picture.
func (p *errorPlot) at(seconds, cells float64) (x, y float64) {
	return 40 + seconds/float64(p.seconds)*(plotWidth-50), 30 + (1-min(cells, plotCells)/plotCells)*(plotHeight-30)
}

// line draws errors, of which there are equally many in each second: the greatest of each tenth of a second.
func (p *errorPlot) line(name, colour string, list []float64) {
	fmt.Fprint(p, "<polyline fill=\"none\" stroke-width=\"1.2\" stroke=\"", colour, "\" points=\"")
	tenths := int(p.seconds) * 10
	for i := range tenths {
		worst := 0.
		for _, v := range list[i*len(list)/tenths : (i+1)*len(list)/tenths] {
			worst = math.Max(worst, v)
		}
		x, y := p.at(float64(i)/10, worst)
		fmt.Fprintf(p, "%.1f,%.1f ", x, y)
	}
	p.lines++
	fmt.Fprintf(p, "\"/>\n<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n", 40+430*(p.lines-1), plotHeight+45, colour, name)
}

func (p *errorPlot) end() string { return p.String() + "</svg>\n" }
