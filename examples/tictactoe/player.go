package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"parley/protocol/relay"
)

// A move is a package from player to player, semi-ordered: turn u8, square u8, sum u32 of the board
// after it, big endian. The turn and the sum show that both play the same game: lockstep.
const moveBytes = 6

// errApart: the players' boards differ, or the other one does not keep to the rules.
var errApart = errors.New("the two boards are not the same any more")

// errLeft: the other one left before the end.
var errLeft = errors.New("the other one left")

// player plays one game.
type player struct {
	board  board
	mark   mark
	choose func(b board, me mark) (square int, err error) // asks for our move
	show   func(b board)                                  // is called after each move
	client *relay.Client
}

// play joins the table at addr, plays until the game is over and returns the winner, if
// there is one.
func (p *player) play(ctx context.Context, addr string) (winner mark, err error) {
	joining, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if p.client, err = relay.Dial(joining, addr, relay.Config{}); err != nil {
		return nobody, err
	}
	defer func() {
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		// Our last move is to arrive before we leave.
		err = errors.Join(err, p.client.Close(leaving))
	}()
	stop := context.AfterFunc(ctx, func() { p.client.Close(ctx) })
	defer stop()
	for ev := range p.client.Events() {
		switch {
		case ev.Kind == relay.EventLeft:
			return nobody, ev.Close
		case ev.Package.Server:
			err = p.seated(ev.Package.Payload)
		default:
			err = p.take(ev.Package.Payload)
		}
		if err == nil {
			err = p.move()
		}
		if err != nil || p.board.over() {
			return p.board.winner(), err
		}
	}
	return nobody, errors.New("the table is gone")
}

// seated takes what the server says.
func (p *player) seated(payload []byte) error {
	if len(payload) == 1 && payload[0] == sayLeft {
		return errLeft
	}
	if len(payload) != 1 || payload[0] != sayX && payload[0] != sayO {
		return errors.New("the table is full")
	}
	p.mark = mark(payload[0])
	return nil
}

// take applies the opponent's move.
func (p *player) take(payload []byte) error {
	if len(payload) != moveBytes || payload[0] != p.board.turns || p.mark == nobody || p.board.next() == p.mark {
		return errApart
	}
	if err := p.board.play(int(payload[1])); err != nil {
		return fmt.Errorf("%w: %w", errApart, err)
	}
	if binary.BigEndian.Uint32(payload[2:]) != p.board.sum() {
		return errApart
	}
	p.show(p.board)
	return nil
}

// move makes our move, if it is our turn.
func (p *player) move() error {
	if p.mark == nobody || p.board.over() || p.board.next() != p.mark {
		return nil
	}
	turn := p.board.turns
	square, err := p.choose(p.board, p.mark)
	if err == nil {
		err = p.board.play(square)
	}
	if err != nil {
		return err
	}
	p.show(p.board)
	payload := binary.BigEndian.AppendUint32([]byte{turn, byte(square)}, p.board.sum())
	return p.client.Send(relay.SemiOrdered, relay.ToOthers, payload)
}
