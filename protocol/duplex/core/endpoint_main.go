package core

import (
	"encoding/binary"
	"fmt"
	"time"
)

// HandleBytes takes bytes of main and returns how many it took. It does not take all while too many events wait to be
// polled, or too many queries wait for their replies. Keep the rest, and call HandleBytes again with it later. It does not
// keep b.
func (e *Endpoint) HandleBytes(now time.Time, b []byte) (n int) {
	e.now = now
	var m Message
	for n < len(b) && e.state < StateClosing && e.readsOn() {
		if e.state < StateOpen && e.side == FromServer && e.stream.Held() == 0 && !e.early(b[n]) {
			e.protocol(fmt.Sprintf("code %d before the player has joined", b[n]))
			break
		}
		k, whole := e.stream.Next(b[n:], &m)
		n += k
		e.stats.MainInBytes += uint64(k)
		if whole {
			e.handleMain(now, &m)
		} else if err := e.stream.Err(); err != nil {
			e.protocol(err.Error())
		}
	}
	if e.state >= StateClosing {
		return len(b) // what comes after the end is thrown away
	}
	return n
}

// early reports whether a client may send a code before it has joined. It is asked before the rest of the message is there,
// so that a stranger has nothing held but a pass.
func (e *Endpoint) early(code uint8) bool {
	switch code {
	case CodeConnInit, CodeConnOK, CodeConnFailed:
		return true
	}
	return code == e.cfg.rules.pass && code != 0
}

// readsOn reports whether the next message of main may be read. What follows a pass waits for the verdict, in the order in
// which it came: a CONN_OK, and what a client sends that takes itself for joined.
func (e *Endpoint) readsOn() bool {
	return e.inbox.hasRoom() && e.owed.hasRoom() && !(e.view != nil && e.view.conn.entry.judging)
}

func (e *Endpoint) handleMain(now time.Time, m *Message) {
	e.stats.MainIn++
	if e.side == FromClient {
		e.handleFromServer(now, m)
	} else {
		e.handleFromClient(now, m)
	}
}

// handleFromServer is a client's.
func (e *Endpoint) handleFromServer(now time.Time, m *Message) {
	switch {
	case m.Kind == KindSignal && m.Code == CodeRefused:
		e.end(Close{Reason: ReasonRefused, Remote: true})
	case m.Kind == KindConnInitRep && e.state == StateConnecting:
		e.handleConnInitRep(now, m)
	case m.Kind == KindConnInitRep:
		e.protocol("a second conn_init_rep")
	case m.Kind == KindReply && e.entry.asked && m.Code == e.cfg.rules.pass+ReplyOffset:
		e.passJudged(m)
	case e.state != StateOpen:
		e.protocol("a " + m.Kind.String() + " before the player has joined")
	case m.Kind == KindSync:
		if e.learn(now, m, Main) {
			e.inbox.put(Event{Kind: EventSync, Channel: Main, SID: m.SID}, m.Data, e.lender)
		}
	case m.Kind == KindSignal && m.Code < FirstSignal:
		e.handleServerSignal(m.Code)
	default:
		e.handleGameMain(m)
	}
}

// handleConnInitRep is told who we are. "Token 0 and player 0 are never given."
func (e *Endpoint) handleConnInitRep(now time.Time, m *Message) {
	if m.Player == 0 || m.Token == 0 {
		e.protocol("a player or token of 0")
		return
	}
	e.player, e.token = m.Player, m.Token
	e.state = StateJoining
	e.feed.giveUp = now.Add(e.cfg.FeedWait)
	if e.cfg.Pass != nil && !e.showPass() {
		return
	}
	e.feedInit(now)
}

// showPass sends the pass, and reports whether it has.
func (e *Endpoint) showPass() bool {
	m := Message{Kind: KindQuery, Code: e.cfg.rules.pass, Data: e.cfg.Pass}
	err := ErrCode
	if m.Code != 0 {
		err = e.cfg.rules.check(FromClient, &m)
	}
	if err == nil {
		err = e.putMain(&m)
	}
	if err != nil {
		e.end(Close{Reason: ReasonClosed, Text: "the pass cannot be sent: " + err.Error()})
	}
	e.entry.asked = true
	return err == nil
}

// passJudged hears what the server says of the pass: "Reply 195 is status u8 and, with 0, the own SID i16: what counts from
// CONN_OK on".
func (e *Endpoint) passJudged(m *Message) {
	e.entry.asked = false
	if m.Status != 0 {
		e.end(Close{Reason: ReasonRefused, Remote: true, Status: m.Status, Text: fmt.Sprintf("the pass was refused with status %d", m.Status)})
		return
	}
	if len(m.Data) == 2 {
		e.sid = int16(binary.BigEndian.Uint16(m.Data))
	}
	if e.entry.ready {
		e.enter(e.feed.up)
	}
}

// enter says to the server how the player enters, once its pass is good.
func (e *Endpoint) enter(works bool) {
	if e.entry.ready = true; e.entry.asked {
		return
	}
	if works {
		e.signal(CodeConnOK)
	} else {
		e.signal(CodeConnFailed)
	}
	e.join()
}

func (e *Endpoint) handleServerSignal(code uint8) {
	switch code {
	case CodeSyncStart:
		if e.mirror.syncing {
			e.protocol("a sync began inside a sync")
			return
		}
		e.mirror.start()
		e.stats.Syncs++
	case CodeSyncEnd:
		if !e.mirror.syncing {
			e.protocol("a sync ended that had not begun")
			return
		}
		e.endSync()
	default:
		e.protocol("a signal that only a client sends")
	}
}

// handleFromClient is a server's. CONN_INIT is the Mux's to answer: see mux_admit.go.
func (e *Endpoint) handleFromClient(now time.Time, m *Message) {
	isSignal := m.Kind == KindSignal && m.Code < FirstSignal
	switch {
	case isSignal && m.Code == CodeConnInit && e.state == StateConnecting:
		e.view.wantsIn = true
	case isSignal && (m.Code == CodeConnOK || m.Code == CodeConnFailed) && e.state >= StateJoining:
		e.handleFeedSaid(now, m.Code == CodeConnOK)
	case m.Kind == KindQuery && m.Code == e.cfg.rules.pass && e.state == StateJoining:
		e.view.conn.judge(m)
	case e.state != StateOpen:
		e.protocol("a " + m.Kind.String() + " before the player has joined")
	case m.Kind == KindSync:
		e.inbox.put(Event{Kind: EventSync, Channel: Main, SID: m.SID}, m.Data, e.lender)
	case isSignal && m.Code == CodeSyncReq:
		e.view.request()
	case isSignal && m.Code == CodeSyncOK:
		if e.view.unconfirmed == 0 {
			e.stats.MainIgnored++
			return
		}
		e.view.unconfirmed--
		e.tell(Event{Kind: EventSynced, Channel: Main})
	case isSignal:
		e.protocol("a signal that comes but once, or only from a server")
	default:
		e.handleGameMain(m)
	}
}

// handleFeedSaid hears whether the client's feed works: "Either of the two signals brings
// the player into the game." Later ones say that it was lost or came back.
func (e *Endpoint) handleFeedSaid(now time.Time, works bool) {
	if e.state == StateJoining {
		if why := e.view.conn.mayEnter(); why != "" {
			e.view.conn.mux.stats.Refused++
			e.refused(why)
			return
		}
	}
	e.feed.said = works
	up := works && e.feed.peer.IsValid() && now.Sub(e.feed.heard) < e.cfg.FeedTimeout
	e.setUp(up)
	if e.state == StateJoining {
		e.join()
		e.view.join(now, e.cfg.Resync)
	}
}

// refused tells a client that it is not let in.
func (e *Endpoint) refused(why string) {
	e.signal(CodeRefused)
	e.leave(Close{Reason: ReasonRefused, Text: why})
}

// handleGameMain takes a message of the game that both sides may send.
func (e *Endpoint) handleGameMain(m *Message) {
	switch m.Kind {
	case KindSignal:
		e.tell(Event{Kind: EventSignal, Channel: Main, Code: m.Code})
	case KindQuery:
		e.owe(Main, m)
	case KindReply:
		// "A reply message cannot and should not be sent without having a query message
		// received before." (Reply message)
		if !e.answered(Main, m) {
			e.protocol("a reply without a query")
		}
	}
}
