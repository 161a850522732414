package gateway

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"parley/play/keep"
	"parley/play/message"
	relaycore "parley/protocol/relay/core"
)

// spentTickets are the serials of tickets that have let somebody in, until those have expired. They are kept in a file, so
// that a restart does not make tickets good again. Nobody waits for the disk but the player whose ticket is written: a
// goroutine writes what has come in one go, and the hub asks for what is done.
//
// What has expired is forgotten. A clock that goes back would make it good again, so the latest expiry that was forgotten is
// kept: tickets that expire no later stay refused. It is not the latest time that the clock has shown, as a clock that was
// ahead by years would then refuse all tickets for years.
//
// The file is a header and records of the same size, at the end of which new ones are written:
//
//	 0             8          24       28
//	+-------------+----------+--------+------+
//	| expires u64 | serial   | CRC-32 | kind |
//	| Unix s      | 16 bytes | u32    | u32  |
//	+-------------+----------+--------+------+
//
// Kind 0 is a spent ticket. Kind 1, with a serial of zeros, is the latest expiry that was forgotten; its CRC is inverted, so
// that neither is read as the other.
//
// A disk writes sectors whole, and no record is in two of them. So a record is as it was written, or absent: zeros, or cut off
// at the end, and then only among the last that were written at once, whose players have not been let in. Anything else is
// damage.
type spentTickets struct {
	file  string // "" keeps them in memory only
	clock func() time.Time
	log   *slog.Logger

	// isAccount, if set, reports whether a name is that of an account.
	isAccount func(ctx context.Context, name string) (bool, error)

	// claim, if set, spends tickets in a whole cluster, and says with the err of each why it did not: no serials are kept here then.
	claim func(ctx context.Context, list []spending)

	// told is called when there are verdicts.
	told func()

	mu        sync.Mutex
	serials   map[[16]byte]int64
	unused    map[[16]byte]bool // of serials, those whose players left before they were in: they may be shown again
	expiry    spentHeap         // of all serials
	forgotten int64             // the latest expiry of those that were forgotten
	waiting   []spending        // to be written
	writing   chan struct{}     // closed when the goroutine that is at it is done; nil if none is
	done      []verdict
	failed    uint64
	closed    bool

	// Of who writes.
	out     *os.File
	records int  // in the file
	stale   bool // the file must be written anew: a write has failed
}

// spending is a ticket on its way to the disk.
type spending struct {
	serial  [16]byte
	expires int64
	name    string
	seat    *Seat
	guest   bool   // no ticket, but somebody whose name may be that of an account
	mark    bool   // no ticket, but the latest expiry that was forgotten
	use     string // of a ticket that is claimed: for what
	err     error  // of claim
}

// verdict says that the ticket of a seat is spent, and what its player is called, or why not.
type verdict struct {
	seat *Seat
	name string
	err  error
}

const (
	spentHeader      = "parley spent tickets, version 1\n"
	spentRecordBytes = 32
	spentMark        = 1 // the kind of the record of what was forgotten
)

var spentSum = crc32.MakeTable(crc32.Castagnoli)

func newPass(t relaycore.Ticket) *Pass {
	return &Pass{Kind: message.PassTicket, Room: cmp.Or(t.Room, MainRoom), Name: fitName(t.Name), serial: t.Serial, expires: t.Expires.Unix()}
}

// openSpent reads what was spent, and leaves in the file what has not expired.
func openSpent(file string, clock func() time.Time, log *slog.Logger) (*spentTickets, error) {
	b := &spentTickets{file: file, clock: clock, log: log, serials: map[[16]byte]int64{}, unused: map[[16]byte]bool{}, told: func() {}}
	if file == "" {
		return b, nil
	}
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("gateway: spent tickets: %w", err)
	}
	if err == nil {
		if err := b.read(text); err != nil {
			return nil, fmt.Errorf("gateway: spent tickets: %s is damaged: %w; put back a copy of it, or change the ticket key and delete it", file, err)
		}
	}
	if err := b.rewrite(b.all()); err != nil {
		return nil, fmt.Errorf("gateway: spent tickets: %w", err)
	}
	if now := clock(); b.forgotten > now.Unix() {
		b.log.Warn("the clock has gone back: tickets that expire too soon are refused", "clock", now, "refused_until", time.Unix(b.forgotten, 0))
	}
	return b, nil
}

// read takes in a file.
func (b *spentTickets) read(text []byte) error {
	if len(text) < len(spentHeader) || string(text[:len(spentHeader)]) != spentHeader {
		return errors.New("it does not begin as such a file does")
	}
	text = text[len(spentHeader):]
	now, records := b.clock().Unix(), len(text)/spentRecordBytes // what is behind them was cut off
	for i := range records {
		r := text[i*spentRecordBytes:][:spentRecordBytes]
		if [spentRecordBytes]byte(r) == [spentRecordBytes]byte{} && i >= records-maxSpentBatch {
			continue
		}
		expires, serial := int64(binary.BigEndian.Uint64(r)), [16]byte(r[8:24])
		sum, kind := crc32.Checksum(r[:24], spentSum), binary.BigEndian.Uint32(r[28:])
		mark := kind == spentMark && serial == [16]byte{}
		if mark {
			sum = ^sum
		}
		if kind != 0 && !mark || sum != binary.BigEndian.Uint32(r[24:]) {
			return fmt.Errorf("record %d of %d", i+1, records)
		}
		if _, twice := b.serials[serial]; mark || expires <= now {
			b.forgotten = max(b.forgotten, expires)
		} else if !twice {
			b.add(serial, expires)
		}
	}
	return nil
}

func appendSpent(to []byte, s *spending) []byte {
	start := len(to)
	to = binary.BigEndian.AppendUint64(to, uint64(s.expires))
	to = append(to, s.serial[:]...)
	sum, kind := crc32.Checksum(to[start:], spentSum), uint32(0)
	if s.mark {
		sum, kind = ^sum, spentMark
	}
	to = binary.BigEndian.AppendUint32(to, sum)
	return binary.BigEndian.AppendUint32(to, kind)
}

func (b *spentTickets) add(serial [16]byte, expires int64) {
	b.serials[serial] = expires
	heap.Push(&b.expiry, spentTicket{expires, serial})
}

// forget lets go of what has expired.
func (b *spentTickets) forget(now int64) {
	for len(b.expiry) > 0 && b.expiry[0].expires <= now {
		old := heap.Pop(&b.expiry).(spentTicket)
		delete(b.serials, old.serial)
		delete(b.unused, old.serial)
		b.forgotten = max(b.forgotten, old.expires)
	}
}

// judge returns why a ticket lets nobody in: it is spent, or about to be, or it may be one that was forgotten.
func (b *spentTickets) judge(p *Pass) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refusal(p)
}

func (b *spentTickets) refusal(p *Pass) error {
	if _, spent := b.serials[p.serial]; spent && !b.unused[p.serial] {
		return RefusedUsed
	}
	if p.expires <= b.forgotten {
		return RefusedTicket
	}
	return nil
}

// unspend makes a ticket good again whose player has left before it was in. The file has it as spent until it is written anew.
func (b *spentTickets) unspend(serial [16]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, spent := b.serials[serial]; spent {
		b.unused[serial] = true
	}
}

// spend notes that the ticket of a seat is spent, and has it written.
func (b *spentTickets) spend(s *Seat) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.pass.Kind != message.PassTicket || b.claim != nil {
		if b.closed || len(b.waiting) >= maxNaming {
			b.failed++
			return RefusedBusy
		}
		b.wait(s)
		return nil
	}
	b.forget(b.clock().Unix())
	if err := b.refusal(s.pass); err != nil {
		return err
	}
	again := b.unused[s.pass.serial]
	if len(b.expiry) >= maxSpent && !again || b.closed {
		b.failed++
		return RefusedBusy
	}
	if again {
		delete(b.unused, s.pass.serial)
	} else {
		b.add(s.pass.serial, s.pass.expires)
	}
	b.wait(s)
	return nil
}

// wait has the goroutine that writes come to a seat, if there is anything for it to do.
func (b *spentTickets) wait(s *Seat) {
	guest := s.pass.Kind != message.PassTicket
	if b.file == "" && b.isAccount == nil && (b.claim == nil || guest) {
		b.done = append(b.done, verdict{seat: s, name: s.pass.Name})
		return
	}
	b.waiting = append(b.waiting, spending{serial: s.pass.serial, expires: s.pass.expires, name: s.pass.Name, seat: s, guest: guest, use: s.use})
	if b.writing == nil {
		b.writing = make(chan struct{})
		go b.write()
	}
}

// settled appends what has been written, or could not be, since it was last asked.
func (b *spentTickets) settled(list []verdict) []verdict {
	b.mu.Lock()
	defer b.mu.Unlock()
	list = append(list, b.done...)
	clear(b.done)
	b.done = b.done[:0]
	return list
}

func (b *spentTickets) failures() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// write writes what waits, until nothing does.
func (b *spentTickets) write() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.waiting) > 0 {
		batch := b.waiting[:min(len(b.waiting), maxSpentBatch)]
		b.waiting = b.waiting[len(batch):]
		var all []spending
		if b.stale || b.records+len(batch) > maxSpentRecords {
			all = b.all() // with those of the batch
		}
		b.mu.Unlock()
		err := b.put(batch, all)
		b.nameAll(batch)
		if b.claim != nil {
			b.claim(context.Background(), batch)
		}
		b.mu.Lock()
		for i := range batch {
			s := &batch[i]
			if s.err != nil {
				b.done = append(b.done, verdict{seat: s.seat, err: s.err})
				continue
			}
			if err == nil || s.guest {
				b.done = append(b.done, verdict{seat: s.seat, name: s.name})
				continue
			}
			delete(b.serials, s.serial) // it has let nobody in, and may be shown again
			b.failed++
			b.done = append(b.done, verdict{seat: s.seat, err: RefusedBusy})
		}
		if err != nil { // else players who come again while the disk is full would fill the memory
			b.expiry = slices.DeleteFunc(b.expiry, func(x spentTicket) bool { _, spent := b.serials[x.serial]; return !spent })
			heap.Init(&b.expiry)
		}
		b.told()
	}
	close(b.writing)
	b.waiting, b.writing = nil, nil
}

// nameAll takes the names from those whose names are, or may be, those of accounts.
func (b *spentTickets) nameAll(batch []spending) {
	if b.isAccount == nil || !slices.ContainsFunc(batch, func(s spending) bool { return s.name != "" }) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), nameTime)
	defer cancel()
	for i := range batch {
		if batch[i].name == "" {
			continue
		}
		taken, err := b.isAccount(ctx, batch[i].name)
		if err != nil {
			b.log.Warn("whether a ticket's name is an account's is not known: its player is a guest", "err", err)
		}
		if taken || err != nil {
			batch[i].name = ""
		}
	}
}

// put brings a batch to the disk: at the end of the file, or with all others to a new one.
func (b *spentTickets) put(batch, all []spending) (err error) {
	if b.file == "" {
		return nil
	}
	if all != nil {
		err = b.rewrite(all)
	} else {
		var text []byte
		for i := range batch {
			if !batch[i].guest {
				text = appendSpent(text, &batch[i])
			}
		}
		if len(text) == 0 {
			return nil
		}
		_, err = b.out.Write(text)
		if err == nil {
			err = b.out.Sync()
		}
		b.records += len(text) / spentRecordBytes
	}
	if b.stale = err != nil; err != nil {
		b.log.Error("tickets could not be spent: their players were not let in", "tickets", len(batch), "file", b.file, "err", err)
	}
	return err
}

// all returns the tickets that have not expired, after what was forgotten.
func (b *spentTickets) all() []spending {
	b.forget(b.clock().Unix())
	list := make([]spending, 0, 1+len(b.serials))
	if b.forgotten != 0 {
		list = append(list, spending{expires: b.forgotten, mark: true})
	}
	for serial, expires := range b.serials {
		if !b.unused[serial] {
			list = append(list, spending{serial: serial, expires: expires})
		}
	}
	return list
}

// rewrite makes the file anew: it is there whole, or the old one is.
func (b *spentTickets) rewrite(all []spending) error {
	dir := filepath.Dir(b.file)
	f, err := os.CreateTemp(dir, ".spent-*")
	if err != nil {
		return err
	}
	text := []byte(spentHeader)
	for i := range all {
		text = appendSpent(text, &all[i])
	}
	_, err = f.Write(text)
	err = cmp.Or(err, f.Sync())
	if err == nil {
		err = os.Rename(f.Name(), b.file)
	}
	if err == nil {
		err = keep.SyncFolder(dir)
	}
	if err != nil {
		os.Remove(f.Name())
		return cmp.Or(err, f.Close())
	}
	if b.out != nil {
		b.out.Close() // the old file has no name any more
	}
	b.out, b.records = f, len(all)
	return nil
}

// close waits until all is written, unless the disk does not answer until ctx ends, and closes the file.
func (b *spentTickets) close(ctx context.Context) error {
	b.mu.Lock()
	writing := b.writing
	b.closed = true
	b.mu.Unlock()
	if writing != nil {
		select {
		case <-writing:
		case <-ctx.Done():
			return fmt.Errorf("gateway: spent tickets: %s is still being written: %w", b.file, ctx.Err())
		}
	}
	if b.out == nil {
		return nil
	}
	err := b.out.Close()
	b.out = nil
	return err
}

// spentTicket and spentHeap order tickets by when they expire.
type spentTicket struct {
	expires int64
	serial  [16]byte
}

type spentHeap []spentTicket

func (h spentHeap) Len() int           { return len(h) }
func (h spentHeap) Less(i, j int) bool { return h[i].expires < h[j].expires }
func (h spentHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *spentHeap) Push(x any)        { *h = append(*h, x.(spentTicket)) }
func (h *spentHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
