package keep

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"parley/world"
)

// loaded is what Room needs to know of a room that was loaded.
type loaded struct {
	snapshots []uint64 // that are sound, as far as they were read
	segments  []uint64
	aside     []string // files that are not part of it any more
}

// Load reads a room: its newest sound snapshot, or the one before, and the entries since then. settings is what Room was given with it,
// or nil if that is lost. A room of another game, schema or format, and one whose files are damaged so that more than the last seconds
// would be lost, is an error of one sentence that says how to go on: its files are left as they are, and Room refuses its name.
func (s *Shelf) Load(name string, g world.Game) (sim *world.Sim, settings []byte, err error) {
	if err := checkName(name); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	_, onDisk := s.loaded[name]
	_, kept := s.rooms[name]
	s.mu.Unlock()
	if kept || !onDisk {
		return nil, nil, fmt.Errorf("keep: room %q is kept already, or was never kept: it cannot be loaded", name)
	}
	l := loading{shelf: s, name: name, dir: filepath.Join(s.root, name), game: g}
	if err := l.load(); err != nil {
		return nil, nil, err
	}
	settings = l.settings()
	s.mu.Lock()
	s.loaded[name] = &l.result
	s.mu.Unlock()
	return l.sim, settings, nil
}

// loading is a room that is being read.
type loading struct {
	shelf  *Shelf
	name   string
	dir    string
	game   world.Game
	sim    *world.Sim
	head   world.Head
	node   uint64 // that made the last entry
	result loaded

	// furthest is the tick up to which there are files, and ahead that of entries, by epoch: whether they can be reached or not.
	visit    func(sim *world.Sim, fresh bool) bool // of Again
	furthest uint64
	ahead    map[uint64]uint64
	wounds   []wound
}

// A wound is where a segment is not sound, or does not follow the one before.
type wound struct {
	name string
	at   int64 // the byte, -1 if an entry is missing
	tick uint64
	err  error
}

func (l *loading) path(name string) string { return filepath.Join(l.dir, name) }

func (l *loading) load() error {
	_, files, err := l.shelf.disk.List(l.dir)
	if err != nil {
		return fmt.Errorf("keep: room %q: its folder cannot be read: %w", l.name, err)
	}
	snapshots, segments := ticksOf(snapshotPrefix, files), ticksOf(logPrefix, files)
	used, err := l.readSnapshots(snapshots)
	if err != nil {
		return err
	}
	start := l.start(segments, used)
	for _, tick := range segments[start:] {
		if err := l.readSegment(tick); err != nil {
			return err
		}
	}
	for _, tick := range snapshots {
		if tick < used {
			l.result.snapshots = insert(l.result.snapshots, tick)
		}
	}
	l.result.segments = segments[:start:start]
	return l.judge(segments[start:])
}

// readSnapshots makes a Sim of the newest snapshot that is sound. It returns its tick.
func (l *loading) readSnapshots(ticks []uint64) (uint64, error) {
	var first error
	for _, tick := range slices.Backward(ticks) {
		name := tickName(snapshotPrefix, tick)
		err := l.readSnapshot(name)
		switch {
		case err == nil && l.sim.Tick() != tick:
			err = fmt.Errorf("%w: it is of tick %d", world.ErrDamaged, l.sim.Tick())
		case err == nil && l.head.Name != l.game.Name, errors.Is(err, world.ErrOtherGame):
			return 0, fmt.Errorf("keep: room %q was kept by another game, or with other kinds and actions (%q; this is %q): start that game with this folder, or move %s away to begin anew",
				l.name, l.head.Name, l.game.Name, l.dir)
		case errors.Is(err, world.ErrVersion):
			return 0, fmt.Errorf("keep: room %q is kept in another version of the format: start the version of parley that wrote it, or move %s away to begin anew: %w", l.name, l.dir, err)
		case errors.Is(err, fs.ErrPermission):
			return 0, fmt.Errorf("keep: room %q: let the server's user read its files: %w", l.name, err)
		}
		if err == nil {
			l.result.snapshots = insert(l.result.snapshots, tick)
			return tick, nil
		}
		l.shelf.warn("keep: a snapshot is not sound: the one before is tried", "room", l.name, "file", l.path(name), "reason", err)
		l.result.aside = append(l.result.aside, name)
		l.furthest = max(l.furthest, tick)
		if first == nil {
			first = fmt.Errorf("%s: %w", l.path(name), err)
		}
	}
	if first == nil {
		first = errors.New("there is none")
	}
	return 0, fmt.Errorf("keep: room %q has no sound snapshot: restore its files from a backup, or move %s away to begin anew: %w", l.name, l.dir, first)
}

func (l *loading) readSnapshot(name string) error {
	in, err := l.shelf.disk.Read(l.path(name))
	if err != nil {
		return err
	}
	defer in.Close()
	return l.playing(func() (err error) {
		l.sim, l.head, err = world.Load(l.game, bufio.NewReaderSize(in, 64<<10))
		return err
	})
}

// playing calls code that runs the game's Step, which may panic: another version of it, or on a state that is not sound.
func (l *loading) playing(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the game panics: %v", p)
		}
	}()
	return do()
}

// start returns which segment to begin with: the last one that begins with an entry not after the snapshot's tick. A segment may be empty,
// if the server was stopped when it had just been made.
func (l *loading) start(segments []uint64, tick uint64) int {
	for i, begin := range slices.Backward(segments) {
		if begin > tick {
			continue
		}
		if first, ok := l.firstTick(tickName(logPrefix, begin)); ok && first <= tick {
			return i
		}
	}
	return 0
}

// firstTick returns the tick of the first entry of a segment, if it has one.
func (l *loading) firstTick(name string) (tick uint64, ok bool) {
	f, err := l.shelf.disk.Read(l.path(name))
	if err != nil {
		return 0, false // reading it says why
	}
	defer f.Close()
	in, err := world.NewLogReader(bufio.NewReader(f))
	if err != nil {
		return 0, false
	}
	block, err := in.Next()
	if err != nil {
		return 0, false
	}
	e, err := l.sim.ReadEntry(block)
	if err != nil {
		return 0, false
	}
	return e.Tick, true
}

// readSegment runs the entries of a segment that follow what is there. Where it is not sound it makes a wound, which the next segment may
// heal: a server that was killed goes on in a new one.
func (l *loading) readSegment(begin uint64) error {
	name := tickName(logPrefix, begin)
	f, err := l.shelf.disk.Read(l.path(name))
	if err != nil {
		return fmt.Errorf("keep: room %q: its log cannot be read: %w", l.name, err)
	}
	defer f.Close()
	in, err := world.NewLogReader(bufio.NewReaderSize(f, 64<<10))
	if errors.Is(err, world.ErrVersion) {
		return fmt.Errorf("keep: room %q is kept in another version of the format: start the version of parley that wrote it, or move %s away to begin anew: %w", l.name, l.dir, err)
	}
	if err == nil {
		if h := in.Head(); h.Name != l.head.Name || h.Config != l.head.Config {
			err = fmt.Errorf("%w: it is of another room", world.ErrDamaged)
		}
	}
	if err != nil {
		l.wound(name, 0, err)
		l.furthest = max(l.furthest, begin) // who knows what it had
		return nil
	}
	for {
		block, err := in.Next()
		at, _ := in.Torn()
		switch {
		case err == io.EOF:
			return nil // what is torn was never said to be safe
		case errors.Is(err, world.ErrDamaged):
			l.wound(name, at, err)
			return nil
		case err != nil:
			return fmt.Errorf("keep: room %q: reading %s: %w", l.name, l.path(name), err)
		}
		if err := l.run(name, at, block); err != nil {
			return err
		}
	}
}

func (l *loading) wound(name string, at int64, err error) {
	l.wounds = append(l.wounds, wound{name, at, l.sim.Tick(), err})
}

// run runs an entry if it is the next one.
func (l *loading) run(name string, at int64, block []byte) error {
	e, err := l.sim.ReadEntry(block)
	if err != nil {
		return fmt.Errorf("keep: room %q: %s, byte %d: move the file away to go on without it: %w", l.name, l.path(name), at, err)
	}
	l.saw(e)
	switch now := l.sim.Tick(); {
	case e.Tick < now || e.Epoch < l.sim.Epoch():
		return nil // the snapshot is newer, or the entry is void
	case e.Tick > now:
		if n := len(l.wounds); n == 0 || l.wounds[n-1].tick != now {
			l.wound(name, -1, fmt.Errorf("the entry of tick %d is missing, and that of tick %d is there", now, e.Tick))
		}
		return nil
	}
	if l.head.Version != l.game.Version {
		// The world goes on from another version of the game. That it went on so before is no news, whichever version that was.
		e.Items = slices.DeleteFunc(e.Items, func(it world.Item) bool {
			return it.Kind == world.ItemVersion && string(it.Text) != l.game.Version
		})
	}
	l.node = e.Node
	err = l.playing(func() error { return l.sim.Apply(e) })
	if err != nil {
		return fmt.Errorf("keep: room %q cannot be run again from %s, byte %d: if Step has changed, give the game another Version; if it depends on more than the world, mend it; or move %s away to begin anew: %w",
			l.name, l.path(name), at, l.dir, err)
	}
	if l.visit != nil && !l.visit(l.sim, false) {
		return errStopped
	}
	return nil
}

// saw notes how far the entries of an epoch go.
func (l *loading) saw(e *world.Entry) {
	if l.ahead == nil {
		l.ahead = map[uint64]uint64{}
	}
	l.ahead[e.Epoch] = max(l.ahead[e.Epoch], e.Tick+1)
}

// judge decides whether what was reached is what was kept. A loss of power may lose some of what was not synced, in any order: then the
// room goes on where it can. If more is lost, an operator decides.
func (l *loading) judge(segments []uint64) error {
	now := l.sim.Tick()
	for _, w := range l.wounds {
		if w.tick == now && w.at >= 0 {
			if err := l.behind(w); err != nil {
				return err
			}
		}
	}
	for epoch, tick := range l.ahead {
		if epoch >= l.sim.Epoch() { // others were given up: a server went on before them
			l.furthest = max(l.furthest, tick)
		}
	}
	for _, tick := range segments {
		name := tickName(logPrefix, tick)
		if _, ok := l.firstTick(name); tick > now || !ok && tick < now || tick == now && l.isWounded(name) {
			l.result.aside = append(l.result.aside, name)
		} else if tick < now {
			l.result.segments = append(l.result.segments, tick)
		}
	}
	if l.furthest <= now {
		return nil
	}
	lost := l.furthest - now
	var last error
	for _, w := range l.wounds {
		if w.tick != now {
			continue
		}
		last = fmt.Errorf("%s, byte %d: %w", l.path(w.name), w.at, w.err)
		if w.at < 0 {
			last = fmt.Errorf("%s: %w", l.path(w.name), w.err)
		}
		break
	}
	if lost <= uint64(lostSeconds*max(1, l.sim.Config().TickRate)) {
		l.shelf.warn("keep: the end of a room's log is not whole, as after a loss of power: the room goes on before it",
			"room", l.name, "tick", now, "lost", lost, "reason", last)
		return nil
	}
	if last == nil {
		last = errors.New("a segment is missing")
	}
	return fmt.Errorf("keep: room %q can be read up to tick %d only, and %d ticks would be lost: restore its files from a backup, or %s to go on without them: %w",
		l.name, now, lost, l.remedy(now), last)
}

func (l *loading) isWounded(name string) bool {
	return slices.ContainsFunc(l.wounds, func(w wound) bool { return w.name == name })
}

// remedy says what to do so that the room goes on at a tick.
func (l *loading) remedy(now uint64) string {
	for _, w := range l.wounds {
		if w.tick == now && w.at > 0 {
			return fmt.Sprintf("run truncate -s %d %s and move what is newer away", w.at, l.path(w.name))
		}
	}
	return fmt.Sprintf("move the files in %s away that are newer than tick %d", l.dir, now)
}

// behind looks for entries that are sound behind a wound, and of the server that wrote the ones before it: no player knows its number, so
// no line of chat passes for one.
func (l *loading) behind(w wound) error {
	f, err := l.shelf.disk.Read(l.path(w.name))
	if err != nil {
		return fmt.Errorf("keep: room %q: %w", l.name, err)
	}
	defer f.Close()
	_, err = io.CopyN(io.Discard, f, w.at)
	var tail []byte
	if err == nil {
		tail, err = io.ReadAll(io.LimitReader(f, maxBehind+1))
	}
	if err != nil {
		return fmt.Errorf("keep: room %q: reading %s: %w", l.name, l.path(w.name), err)
	}
	work := 0
	for ; len(tail) > 0 && len(tail) <= maxBehind && work <= maxBehindWork; tail = tail[1:] {
		block := soundBlock(tail, &work)
		if block == nil {
			continue
		}
		if e, err := l.sim.ReadEntry(block); err == nil && (e.Node == l.node || l.node == 0) {
			l.saw(e)
			tail = tail[len(block)-1:]
		}
	}
	if len(tail) > 0 {
		l.furthest = math.MaxUint64 // more than seconds, or made to take long: no machine leaves such a tail
	}
	return nil
}

// settings reads the gateway's bytes, or nil if they are lost.
func (l *loading) settings() []byte {
	f, err := l.shelf.disk.Read(l.path(settingsName))
	if err == nil {
		defer f.Close()
		var b []byte
		if b, err = io.ReadAll(io.LimitReader(f, int64(len(settingsMagic))+4+maxSettings+1)); err == nil {
			if settings, ok := parseSettings(b); ok {
				return settings
			}
			err = world.ErrDamaged
		}
	}
	l.shelf.warn("keep: the settings of a room are lost: it goes on with none", "room", l.name, "file", l.path(settingsName), "reason", err)
	return nil
}

// soundBlock returns the block of an entry at the beginning of b, or nil. world/log.go has its layout: size u32 of what follows the sum,
// CRC-32C u32 of the same, kind u8.
func soundBlock(b []byte, work *int) []byte {
	const header, kindEntry = 8, 4
	if len(b) <= header || b[header] != kindEntry {
		return nil
	}
	size := uint64(binary.LittleEndian.Uint32(b))
	if size < 1 || size > uint64(len(b)-header) {
		return nil
	}
	block := b[:header+size]
	*work += len(block)
	if crc32.Checksum(block[header:], castagnoli) != binary.LittleEndian.Uint32(b[4:]) {
		return nil
	}
	return block
}
