package core

import "encoding/binary"

// passes is what a server knows of the passes that a client has shown.
type passes struct {
	judging bool  // the newest is being judged
	passed  bool  // the newest was good
	named   bool  // it gave the player a SID that is not the feed's id
	shown   uint8 // how many
	refused uint8 // how many of these were refused
}

// Showed reports whether the client has shown a pass, good or bad: "SIDs −3 to −6 go only to clients that sent query 67".
func (c *Conn) Showed() bool { return c.entry.shown > 0 }

// judged reports whether the client waits for a verdict.
func (c *Conn) judged() bool { return c.entry.judging && c.e.state == StateJoining }

// judge has the program look at a pass.
func (c *Conn) judge(m *Message) {
	p := &c.entry
	if p.shown++; p.shown > maxPasses {
		c.e.protocol("too many passes")
		return
	}
	p.judging, p.passed = true, false
	if c.e.cfg.Judge == nil {
		c.AnswerPass(1, 0, nil)
		return
	}
	c.e.cfg.Judge(c, m.Data)
}

// NoReply is the status with which AnswerPass refuses a pass and tells the client nothing: it was not looked at.
const NoReply = 255

// AnswerPass answers the pass that Config.Judge was told of: in Judge, or later. Meanwhile nothing that the client sends on main
// is read, and its time to join runs. Status 0 says that the pass is good. The client then has the SID sid, or the id of its feed if sid
// is 0. Once it has joined it sees a scene, or the Mux's own if scene is nil. Any other status is a refusal: "the third refusal, or
// CONN_OK after one, closes". AnswerPass reports whether the client was there to hear it: if not, it has left, and its EventClosed
// was or will be polled.
func (c *Conn) AnswerPass(status uint8, sid int16, scene *Scene) bool {
	if !c.judged() {
		return false
	}
	defer c.mux.touch(c)
	c.e.now = c.mux.now
	c.entry.judging = false
	reply := Message{Kind: KindReply, Code: c.e.cfg.rules.pass + ReplyOffset, Status: status}
	if status == 0 {
		if scene == nil {
			scene = &c.mux.Scene
		}
		if c.Place(scene); c.e.state >= StateClosing {
			return false // the scene was closed meanwhile
		}
		c.entry.passed, c.entry.named, c.e.sid = true, sid != 0, sid
		reply.Data = binary.BigEndian.AppendUint16(nil, uint16(c.Player()))
	} else {
		c.entry.refused++
		c.mux.stats.BadPass++
	}
	if status != NoReply {
		_ = c.e.putMain(&reply) // if there is no room for it, the client has read nothing so far
	}
	if c.entry.refused >= maxRefusedPasses {
		c.e.leave(Close{Reason: ReasonRefused, Text: "too many passes were refused"})
	}
	return true
}

// mayEnter says why a player who would enter may not, or nothing: "Who enters a full game is told so."
func (c *Conn) mayEnter() string {
	switch {
	case c.entry.refused > 0 && !c.entry.passed:
		return "its pass was refused"
	case c.mux.full():
		return "server full"
	case c.mux.cfg.Enter != nil:
		return c.mux.cfg.Enter(c)
	}
	return ""
}
