package main

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// mark is who has a square: nobody, X or O.
type mark byte

const (
	nobody mark = iota
	markX
	markO
)

// String returns the letter of a mark.
func (m mark) String() string { return [...]string{" ", "X", "O"}[m] }

// other returns the opponent.
func (m mark) other() mark { return markX + markO - m }

// board is the whole state of a game. Both players have one; the same moves make the same
// board.
type board struct {
	squares [9]mark
	turns   byte // moves so far
}

var lines = [...][3]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}}

// next returns whose turn it is.
func (b *board) next() mark {
	if b.turns%2 == 0 {
		return markX
	}
	return markO
}

// play puts the next mark on a square, 0 to 8.
func (b *board) play(square int) error {
	switch {
	case b.over():
		return fmt.Errorf("the game is over")
	case square < 0 || square > 8:
		return fmt.Errorf("there is no square %d", square+1)
	case b.squares[square] != nobody:
		return fmt.Errorf("square %d is taken by %s", square+1, b.squares[square])
	}
	b.squares[square] = b.next()
	b.turns++
	return nil
}

// winner returns who has three in a row, if anybody.
func (b *board) winner() mark {
	for _, l := range lines {
		if m := b.squares[l[0]]; m != nobody && m == b.squares[l[1]] && m == b.squares[l[2]] {
			return m
		}
	}
	return nobody
}

func (b *board) over() bool { return b.winner() != nobody || b.turns == 9 }

// sum is a hash of the board, by which two players see that they play the same game.
func (b *board) sum() uint32 {
	h := fnv.New32a()
	for _, m := range b.squares {
		h.Write([]byte{byte(m)})
	}
	h.Write([]byte{b.turns})
	return h.Sum32()
}

// String draws the board.
func (b *board) String() string {
	var text strings.Builder
	for row := range 3 {
		fmt.Fprintf(&text, " %s | %s | %s\n", b.squares[3*row], b.squares[3*row+1], b.squares[3*row+2])
		if row < 2 {
			text.WriteString("---+---+---\n")
		}
	}
	return text.String()
}
