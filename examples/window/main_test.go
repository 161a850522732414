package main

import (
	"context"
	"fmt"
	"image/color"
	"log/slog"
	"os"
	"testing"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"

	"parley"
	"parley/arena"
	"parley/client"
)

// What the picture showed. A window must be on the main goroutine, so TestMain plays before the tests look.
var seen struct {
	told, drawn   int     // ships, when the key was pressed
	before, after float64 // where the own ship was, in pixels from the left: when the key was seen, and two frames later
	err           error
}

func TestMain(m *testing.M) {
	if os.Getenv("DISPLAY") == "" {
		fmt.Println("there is no display: run it as xvfb-run -a go test")
		os.Exit(1)
	}
	seen.err = play()
	os.Exit(m.Run())
}

func TestAsManyShipsAreDrawnAsWereTold(t *testing.T) {
	if seen.err != nil {
		t.Fatal(seen.err)
	}
	if seen.told != 1+others || seen.drawn != seen.told {
		t.Errorf("%d ships are there, %d were told and %d are drawn", 1+others, seen.told, seen.drawn)
	}
}

func TestTheOwnShipMovesWithinTwoFramesOfTheKey(t *testing.T) {
	if seen.err != nil {
		t.Fatal(seen.err)
	}
	t.Logf("from %.2f to %.2f pixels", seen.before, seen.after)
	if seen.after < seen.before+0.25 {
		t.Errorf("two frames after the key the own ship is at %.2f pixels, and was at %.2f", seen.after, seen.before)
	}
}

// others is how many players there are beside the one at the window.
const others = 3

// play serves the arena, has others join it, and opens the window.
func play() error {
	s, err := parley.Start(arena.Game(), parley.Config{
		Replica: "127.0.0.1:0", Stamp: "off", Relay: "off", Duplex: "off", Realm: "off", Sight: -1, Seed: 7, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer s.Close()
	url := "replica://" + s.Addrs()[0].Addr.String()
	players := make([]*client.Client, 1+others)
	for i := range players {
		if players[i], err = client.Dial(context.Background(), url, arena.Game(), client.Config{}); err != nil {
			return err
		}
		defer players[i].Close()
	}
	x, err := xgb.NewConn()
	if err != nil {
		return err
	}
	defer x.Close()
	if err := xtest.Init(x); err != nil {
		return err
	}
	ebiten.SetWindowSize(width, height)
	return ebiten.RunGame(&script{window: newWindow(players[0]), x: x})
}

// script plays in a window: it waits until all ships are drawn, presses the right arrow, and looks.
type script struct {
	*window
	x       *xgb.Conn
	frames  int
	pressed bool // the key is down, as X was told
	heard   int  // the frame before which Update has seen the key
	done    bool
	pixels  []byte
}

// maxFrames ends a script that waits for nothing: half a minute.
const maxFrames = 30 * 60

// keyRight is the code of the right arrow on the keyboard of an X server.
const keyRight = 114

func (s *script) Update() error {
	switch {
	case s.done:
		return ebiten.Termination
	case s.frames > maxFrames:
		return fmt.Errorf("after %d frames: told %d ships, drawn %d; key pressed: %v, heard: %v", s.frames, seen.told, seen.drawn, s.pressed, s.heard > 0)
	}
	if err := s.window.Update(); err != nil {
		return err
	}
	if s.heard == 0 && s.way == [2]int{1, 0} {
		s.heard = s.frames
	}
	return nil
}

func (s *script) Draw(picture *ebiten.Image) {
	s.window.Draw(picture)
	s.frames++
	if s.pixels == nil {
		s.pixels = make([]byte, 4*width*height)
	}
	picture.ReadPixels(s.pixels)
	at := s.middle(ownShip)
	if s.heard == 0 {
		seen.before = at
	}
	switch {
	case s.heard > 0:
		if s.frames == s.heard+2 {
			seen.after, s.done = at, true
		}
	case !s.pressed:
		seen.told, seen.drawn = 0, s.blobs(ownShip)+s.blobs(ship)
		for range client.All[arena.Player](s.frame) {
			seen.told++
		}
		if seen.told == 1+others && s.frame.OwnTick > 0 && s.frames > 60 {
			s.press()
		}
	}
}

// press presses the right arrow on the keyboard of the X server.
func (s *script) press() {
	root := xproto.Setup(s.x).DefaultScreen(s.x).Root
	xtest.FakeInput(s.x, xproto.MotionNotify, 0, 0, root, width/4, height/4, 0) // the window under the pointer has the keys
	s.pressed = xtest.FakeInputChecked(s.x, xproto.KeyPress, keyRight, 0, root, 0, 0, 0).Check() == nil
}

// is reports whether the pixel at an index is of a colour, or nearly.
func (s *script) is(i int, c color.RGBA) bool {
	near := func(a, b byte) bool { return max(a, b)-min(a, b) < 30 }
	return near(s.pixels[4*i], c.R) && near(s.pixels[4*i+1], c.G) && near(s.pixels[4*i+2], c.B)
}

// middle returns the mean column of a colour.
func (s *script) middle(c color.RGBA) float64 {
	sum, n := 0, 0
	for i := range width * height {
		if s.is(i, c) {
			sum, n = sum+i%width, n+1
		}
	}
	return float64(sum) / float64(max(n, 1))
}

// blobs counts the areas of a colour.
func (s *script) blobs(c color.RGBA) (n int) {
	done := make([]bool, width*height)
	var next []int
	for i := range done {
		if done[i] || !s.is(i, c) {
			continue
		}
		n++
		for next = append(next[:0], i); len(next) > 0; {
			at := next[len(next)-1]
			if next = next[:len(next)-1]; done[at] || !s.is(at, c) {
				continue
			}
			done[at] = true
			for _, step := range []int{-1, 1, -width, width} {
				if to := at + step; to >= 0 && to < len(done) && !done[to] {
					next = append(next, to)
				}
			}
		}
	}
	return n
}
