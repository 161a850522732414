// Command window plays the arena in a window. It is a client in some hundred lines: package client has the network, and this file has
// the drawing. It is a module of its own, as ebiten needs a C compiler and the headers of X11 and OpenGL.
//
//	parley serve &                                   # in the folder of parley: go run ./cmd/parley serve
//	go run . replica://127.0.0.1:7000                # or relay://, duplex://, stamp:// to watch
//	GOOS=js GOARCH=wasm go build -o window.wasm .    # for a page, which says behind ?at= where the game is
//
// The page is a folder with window.wasm, wasm_exec.js of Go, an index.html and a script of its own that starts them. The server has it at
// http://localhost:8000/ with parley serve --play-page FOLDER.
//
// The arrows walk, and space throws a ball at the nearest player.
package main

import (
	"context"
	"image/color"
	"log"
	"math"
	"time"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/vector"

	"parley/arena"
	"parley/client"
	"parley/world"
)

const (
	width, height = 960, 720

	pixels = 2  // a cell is so many pixels wide
	radius = 10 // of players and balls, in cells
	block  = 4  // walls are looked for in steps of so many cells
)

var (
	floor    = color.RGBA{20, 22, 30, 255}
	wall     = color.RGBA{90, 95, 110, 255}
	ownShip  = color.RGBA{255, 210, 60, 255}
	ship     = color.RGBA{80, 190, 255, 255}
	ball     = color.RGBA{255, 80, 80, 255}
	lifeLeft = color.RGBA{90, 220, 120, 255}
)

func main() {
	player, err := client.Dial(context.Background(), address(), arena.Game(), client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer player.Close()
	ebiten.SetWindowSize(width, height)
	ebiten.SetWindowTitle("parley: the arena")
	if err := ebiten.RunGame(newWindow(player)); err != nil {
		log.Fatal(err)
	}
}

// window is the game as ebiten runs it: Update has the keys, Draw the picture.
type window struct {
	player *client.Client
	frame  *client.Frame
	x, y   float64 // the middle of the picture, in cells
	placed bool    // it is known
	way    [2]int  // where the player walks
	thrown bool    // space is held down
}

func newWindow(player *client.Client) *window {
	return &window{player: player, frame: player.At(time.Now())}
}

func (w *window) Layout(int, int) (int, int) { return width, height }

// Update does what the keys ask for.
func (w *window) Update() error {
	if w.player.Err() != nil {
		return w.player.Err()
	}
	way := [2]int{held(ebiten.KeyRight) - held(ebiten.KeyLeft), held(ebiten.KeyUp) - held(ebiten.KeyDown)}
	if way != w.way {
		w.way = way
		speed := float32(arena.PlayerSpeed)
		if way == [2]int{} {
			speed = 0
		}
		w.player.Steer(float32(math.Atan2(float64(way[1]), float64(way[0]))), speed)
	}
	throw := ebiten.IsKeyPressed(ebiten.KeySpace)
	if throw && !w.thrown {
		w.throw()
	}
	w.thrown = throw
	return nil
}

func held(key ebiten.Key) int {
	if ebiten.IsKeyPressed(key) {
		return 1
	}
	return 0
}

// throw throws a ball at the nearest player.
func (w *window) throw() {
	own, ok := client.Own[arena.Player](w.frame)
	if !ok {
		return
	}
	nearest, angle := math.Inf(1), own.Angle
	for id, p := range client.All[arena.Player](w.frame) {
		if d := world.Hypot(p.X-own.X, p.Y-own.Y); id != w.frame.Own() && d < nearest {
			nearest, angle = d, world.Heading(own.X, own.Y, p.X, p.Y)
		}
	}
	client.Act(w.player, arena.Throw{Angle: angle})
}

// Draw draws the frame of this moment.
func (w *window) Draw(picture *ebiten.Image) {
	w.frame = w.player.At(time.Now())
	w.follow()
	picture.Fill(floor)
	w.walls(picture)
	for _, b := range client.All[arena.Ball](w.frame) {
		w.circle(picture, b.X, b.Y, radius/2, ball)
	}
	for id, p := range client.All[arena.Player](w.frame) {
		paint := ship
		if id == w.frame.Own() {
			paint = ownShip
		}
		w.circle(picture, p.X, p.Y, radius, paint)
		x, y := w.at(p.X-radius, p.Y+radius+4)
		vector.DrawFilledRect(picture, x, y, 2*radius*pixels*float32(p.Health)/arena.MaxHealth, 3, lifeLeft, false)
	}
}

// follow keeps the own player within the middle third of the picture.
func (w *window) follow() {
	own, ok := client.Own[arena.Player](w.frame)
	if !ok {
		return
	}
	if far := math.Abs(own.X-w.x) > width/pixels/2 || math.Abs(own.Y-w.y) > height/pixels/2; far || !w.placed { // a new life
		w.x, w.y, w.placed = own.X, own.Y, true
	}
	const across, up = width / pixels / 6, height / pixels / 6
	w.x = max(own.X-across, min(w.x, own.X+across))
	w.y = max(own.Y-up, min(w.y, own.Y+up))
}

// at returns where in the picture a place is.
func (w *window) at(x, y float64) (px, py float32) {
	return float32((x-w.x)*pixels + width/2), float32((w.y-y)*pixels + height/2)
}

func (w *window) circle(picture *ebiten.Image, x, y, radius float64, paint color.Color) {
	px, py := w.at(x, y)
	vector.DrawFilledCircle(picture, px, py, float32(radius*pixels), paint, true)
}

// walls draws what is solid. The terrain is made here, from the seed that the server has told.
func (w *window) walls(picture *ebiten.Image) {
	const across, up = width / pixels / 2, height / pixels / 2
	land := w.frame.World()
	for y := math.Floor((w.y-up)/block) * block; y < w.y+up; y += block {
		for x := math.Floor((w.x-across)/block) * block; x < w.x+across; x += block {
			if !land.Passable(x+block/2, y+block/2) {
				px, py := w.at(x, y+block)
				vector.DrawFilledRect(picture, px, py, block*pixels, block*pixels, wall, false)
			}
		}
	}
}
