package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"

	"golang.org/x/term"

	"parley/client"
	"parley/world"
)

// ways are the directions of keys, in radians. Terminals send an arrow as ESC [ and a letter.
var ways = map[byte]float32{'d': 0, 'C': 0, 'w': math.Pi / 2, 'A': math.Pi / 2, 'a': math.Pi, 'D': math.Pi, 's': -math.Pi / 2, 'B': -math.Pi / 2}

// play has a person play in the terminal, until q is pressed or the match is over.
func play(url, name string) error {
	c, err := client.Dial(context.Background(), url, game, client.Config{Name: name})
	if err != nil {
		return err
	}
	defer c.Close()
	if old, err := term.MakeRaw(int(os.Stdin.Fd())); err == nil {
		defer term.Restore(int(os.Stdin.Fd()), old)
	}
	keys := make(chan byte, 16)
	go func() {
		for b := []byte{0}; ; keys <- b[0] {
			if _, err := os.Stdin.Read(b); err != nil {
				return
			}
		}
	}()
	news := ""
	for frame := range c.Frames(20) {
		for len(keys) > 0 {
			switch key := <-keys; key {
			case 'q', 3: // 3 is Ctrl-C
				return nil
			case ' ':
				err = client.Act(c, Tag{})
			case 'x':
				err = c.Steer(0, 0)
			default:
				if angle, ok := ways[key]; ok {
					err = c.Steer(angle, speed)
				}
			}
			if err != nil { // a spectator's: over stamp everybody only watches
				news = err.Error()
			}
		}
		for ev := range frame.Events() {
			news = fmt.Sprintf("%v %q %q", ev.Kind, ev.Name, ev.Text)
		}
		os.Stdout.Write(draw(frame, news))
	}
	return c.Err()
}

// draw is the field as text, with y up.
func draw(frame *client.Frame, news string) []byte {
	var rows [height + 1][width + 1]byte
	for y := range rows {
		for x := range rows[y] {
			rows[y][x] = " #"[min(wall, frame.World().Cell(float64(x), float64(y)))]
		}
	}
	put := func(b *world.Body, glyph byte) {
		rows[max(0, min(int(b.Y), height))][max(0, min(int(b.X), width))] = glyph
	}
	for _, f := range client.All[Flag](frame) {
		put(&f.Body, "RB"[f.Team])
	}
	for _, r := range client.All[Runner](frame) {
		put(&r.Body, "rb"[r.Team])
	}
	if me, ok := client.Own[Runner](frame); ok {
		put(&me.Body, '@')
	}
	b := bytes.NewBufferString("\x1b[H\x1b[J")
	for y := height; y >= 0; y-- {
		fmt.Fprintf(b, "%s\r\n", rows[y])
	}
	for _, s := range client.All[Score](frame) {
		fmt.Fprintf(b, "red %d : %d blue   %s\r\n", s.Flags[0], s.Flags[1], news)
	}
	return b.Bytes()
}
