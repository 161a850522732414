package core

import "parley/internal/wire"

// walk judges a message from its start to its end, as far as its bytes have come, and can go
// on later where it stopped. So a stream that comes byte by byte costs no more than
// one that comes at once, whatever list the message is.
type walk struct {
	limit int   // bytes that the message may have
	at    int   // bytes that were judged
	stage stage // what comes next

	kind  Kind
	outer int // elements of the message's list that are still to come
	inner int // pairs of the entity, or parameters of the action, that are still to come
	total [2]int
	// params are the fields of the action that is being read, or of config.
	params []Field
	// pairs reads the attributes of the entity that is being read.
	pairs *Codec
}

// stage is what comes next in a message.
type stage uint8

const (
	stageHead    stage = iota // type, tick, and all that is not a list
	stageElement              // the next element of the message's list
	stagePair                 // the next attribute of an entity
	stageParam                // the next parameter of an action, or field of config
	stageDone
)

// The lists that errors name: the message's, and that inside its elements.
var outerNames = [...]string{KindEntitiesUpdate: "entities", KindActionsDone: "actions", KindChunksUpdate: "chunks",
	KindTerrainRequest: "chunks"}

// walk goes on as far as it can. When r fails as too short, nothing that was read of the
// step that failed counts, and walk may be called again with a reader of more bytes.
func (c *Codec) walk(w *walk, from Side, r *wire.BigReader) {
	r.Skip("", w.at)
	for w.stage != stageDone {
		before := *w
		switch w.stage {
		case stageHead:
			c.walkHead(w, from, r)
		case stageElement:
			c.walkElement(w, r)
		case stagePair:
			w.pairs.readPair(r)
			w.inner--
			r.In("attributes", w.total[1]-w.inner-1)
		case stageParam:
			readValue(r, w.params[len(w.params)-w.inner].Type)
			w.inner--
			r.In("parameters", len(w.params)-w.inner-1)
		}
		w.next()
		if r.OK() && r.Offset() > w.limit {
			r.Fail(before.at, "message", "larger than a message may be")
		}
		if !r.OK() {
			kind := w.kind
			*w = before
			w.kind = kind
			if name := outerNames[w.kind]; name != "" && w.stage != stageHead {
				r.In(name, w.index())
			}
			return
		}
		w.at = r.Offset()
	}
}

// index is the element that was being read.
func (w *walk) index() int {
	if w.stage == stageElement {
		return w.total[0] - w.outer
	}
	return w.total[0] - w.outer - 1
}

// next finds what comes after a step.
func (w *walk) next() {
	switch {
	case w.inner > 0 && w.params != nil:
		w.stage = stageParam
	case w.inner > 0:
		w.stage = stagePair
	case w.outer > 0:
		w.stage = stageElement
	default:
		w.stage = stageDone
	}
}

// walkHead judges all that a message begins with.
func (c *Codec) walkHead(w *walk, from Side, r *wire.BigReader) {
	typ := r.U8("type")
	if !r.OK() {
		return
	}
	w.kind = Kind(typ) + 1
	if int(typ) >= len(kinds)-1 {
		w.kind = 0
		r.Fail(0, "type", "no such type")
		return
	}
	if kinds[w.kind].sides&from == 0 {
		r.Fail(0, "type", senderWhy[kinds[w.kind].sides])
		return
	}
	if kinds[w.kind].tick {
		r.U16("tick")
	}
	switch w.kind {
	case KindExit:
		readCode(r, "exit code", exitCodes)
	case KindLogin, KindRegister:
		w.text(r, "pseudo")
		w.text(r, "password")
	case KindLoginResponse:
		if LoginCode(readCode(r, "login response code", loginCodes)) == LoginOK {
			r.U16("tick")
			r.U64("timestamp")
		}
	case KindRegisterResponse:
		readCode(r, "register response code", registerCodes)
	case KindMetaAction:
		r.U16("entity")
		if MetaCode(readCode(r, "meta action", metaCodes)) == MetaPlayerJoined {
			w.text(r, "pseudo")
		}
	case KindChunkUpdate:
		readChunk(r, w.limit)
	case KindTerrainRequest:
		at := r.Offset()
		w.list(r, at, int(r.U8("count")), wantedBytes)
	case KindEntitiesUpdate:
		at := r.Offset()
		w.list(r, at, int(r.U16("count")), blockHead)
	case KindEntityUpdate, KindEntityCreate:
		c.walkBlock(w, r)
	case KindActionsDone:
		at := r.Offset()
		w.list(r, at, int(r.U16("count")), doneHead)
	case KindActionDo:
		c.walkAction(w, r)
	case KindEntityDestroy:
		r.U16("entity")
	case KindChatSend:
		w.text(r, "text")
	case KindChatReceive:
		r.U16("entity")
		w.text(r, "text")
	case KindVersion:
		r.U16("version")
	case KindConfig:
		r.U16("maxRollbackTicks")
		r.U16("timeServerPort")
		w.params, w.inner = c.config, len(c.config)
	case KindEntityIDChange:
		r.U16("old")
		r.U16("new")
	case KindChunksUpdate:
		at := r.Offset()
		w.list(r, at, int(r.U16("count")), chunkHead)
	}
}

// text judges a text, and refuses one that cannot be within the message before it has come.
func (w *walk) text(r *wire.BigReader, field string) {
	at := r.Offset()
	size := int(r.U16(field))
	fits(r, at, field, size, w.limit)
	r.Text(field, size, MaxText)
}

// senderWhy is what to say of a message from the other side.
var senderWhy = [fromBoth + 1]string{FromClient: "only a client sends this message", FromServer: "only a server sends this message", fromBoth: "the sender is unset"}

// list begins the message's list, whose count stood at offset at.
func (w *walk) list(r *wire.BigReader, at, count, element int) {
	fits(r, at, "count", count*element, w.limit)
	w.outer, w.total[0] = count, count
}

// walkElement judges the beginning of an element of the message's list, or all of it.
func (c *Codec) walkElement(w *walk, r *wire.BigReader) {
	w.outer--
	switch w.kind {
	case KindTerrainRequest:
		r.I16("bx")
		r.I16("by")
	case KindEntitiesUpdate:
		c.walkBlock(w, r)
	case KindActionsDone:
		r.U16("entity")
		c.walkAction(w, r)
	case KindChunksUpdate:
		readChunk(r, w.limit)
	}
}

func (c *Codec) walkBlock(w *walk, r *wire.BigReader) {
	var e Entity
	pairs := e.readBlock(r)
	fits(r, r.Offset()-2, "attribute count", pairs*(pairHead+1), w.limit)
	w.params, w.pairs, w.inner, w.total[1] = nil, c.forBlock(&e), pairs, pairs
}

func (c *Codec) walkAction(w *walk, r *wire.BigReader) {
	_, w.params = c.readActionID(r)
	w.inner = len(w.params)
}

// fits refuses a count, read at offset at, whose elements cannot be within the message: they
// are not waited for.
func fits(r *wire.BigReader, at int, field string, bytes, limit int) {
	if r.OK() && r.Offset()+bytes > limit {
		r.Fail(at, field, "more than a message may hold")
	}
}

// readCode reads a code of a closed set.
func readCode(r *wire.BigReader, field string, codes uint8) uint8 {
	at := r.Offset()
	code := r.U8(field)
	if code >= codes {
		r.Fail(at, field, "no such code")
	}
	return code
}
