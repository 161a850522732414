package program

import (
	"bytes"
	"cmp"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	front "parley"
	"parley/account/storetest"
	"parley/arena"
	"parley/client"
	"parley/internal/patient"
	"parley/internal/plain"
	"parley/world"
)

// serveArena serves the arena in this process, and writes a ready file.
func serveArena(t *testing.T, change ...func(*front.Config)) (s *front.Server, addrs map[string]string, ready string) {
	t.Helper()
	const any = "127.0.0.1:0"
	config := front.Config{
		Replica: any, Stamp: any, Relay: any, Duplex: any, Realm: any, RealmTime: any, RealmPlain: true,
		Accounts: storetest.OpenMemory, Sight: -1, Seed: 7, Registrations: -1, DataDir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&config)
	}
	s, err := front.Start(arena.GameAt(cmp.Or(config.TickRate, defaultTickRate)), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	f := serveFlags{app: ours(), readyFile: filepath.Join(t.TempDir(), "ready.json")}
	if err := f.ready(s.Addrs()); err != nil {
		t.Fatal(err)
	}
	addrs = map[string]string{}
	for _, a := range s.Addrs() {
		addrs[a.Name] = a.Addr.String()
	}
	return s, addrs, f.readyFile
}

// screen is what a command prints, and who waits for it.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
	news chan struct{}
}

func newScreen() *screen { return &screen{news: make(chan struct{}, 1)} }

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
	return s.text.Write(p)
}

// take returns what was printed since the last call.
func (s *screen) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.text.String()
	s.text.Reset()
	return text
}

// terminalUser types at a running `parley join`.
type terminalUser struct {
	*testing.T
	in   io.WriteCloser
	out  *screen
	seen string
	done chan int
}

func join(t *testing.T, first string, args ...string) *terminalUser {
	t.Helper()
	return joinWithin(t, 20, first, args...)
}

// joinWithin joins, with so many tries.
func joinWithin(t *testing.T, tries int, first string, args ...string) *terminalUser {
	t.Helper()
	return joinBy(t, tries, first, func(s streams) int { return ours(builtIn()...).run(append([]string{"join"}, args...), s) })
}

// joinBy joins by a command that a program runs.
func joinBy(t *testing.T, tries int, first string, run func(streams) int) *terminalUser {
	t.Helper()
	r, w := io.Pipe()
	u := &terminalUser{T: t, in: w, out: newScreen(), done: make(chan int, 1)}
	go func() { u.done <- run(streams{In: r, Out: u.out, Err: u.out}) }()
	if first != "" {
		u.types(first)
	}
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		if u.seen += u.out.take(); strings.Contains(u.seen, "joined ") {
			u.seen = ""
			return u
		}
		select {
		case <-u.out.news:
		case <-time.After(time.Second):
		case status := <-u.done:
			if u.seen += u.out.take(); tooBusy(u.seen) && tries > 1 {
				w.Close()
				<-time.After(200 * time.Millisecond) // the server may have caught up by then
				return joinBy(t, tries-1, first, run)
			}
			t.Fatalf("it ended with %d: %s", status, u.seen)
		}
	}
	t.Fatalf("it has not joined: %s", u.seen)
	return nil
}

// tooBusy reports whether somebody was not let in because the machine has no time: there was no answer, or the server, whose
// ticks are late, lets nobody in.
func tooBusy(said string) bool {
	for _, text := range []string{"no server answers", "did not let you in", "in time", "the game is full", "the game is busy"} {
		if strings.Contains(said, text) {
			return true
		}
	}
	return false
}

func (u *terminalUser) types(line string) {
	u.Helper()
	if _, err := io.WriteString(u.in, line+"\n"); err != nil {
		u.Fatal(err)
	}
}

// waits reads until a text came; ask, if there is one, is typed again and again meanwhile.
func (u *terminalUser) waits(text, ask string) {
	u.Helper()
	var asked time.Time
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		u.seen += u.out.take()
		if _, rest, found := strings.Cut(u.seen, text); found {
			u.seen = rest
			return
		}
		if ask != "" && time.Since(asked) > 50*time.Millisecond { // not in answer to what it prints
			u.types(ask)
			asked = time.Now()
		}
		select {
		case <-u.out.news:
		case <-time.After(100 * time.Millisecond): // a tick or two
		case status := <-u.done:
			u.Fatalf("it ended with %d, and no %q: %s", status, text, u.seen+u.out.take())
		}
	}
	u.Fatalf("there is no %q in %s", text, u.seen)
}

// ends returns the status that it ended with.
func (u *terminalUser) ends() int {
	u.Helper()
	select {
	case status := <-u.done:
		return status
	case <-time.After(time.Minute):
		u.Fatalf("it does not end: %s", u.out.take())
		return 0
	}
}

func (u *terminalUser) quits() {
	u.Helper()
	u.types("quit")
	if status := u.ends(); status != exitOK {
		u.Errorf("status %d: %s", status, u.out.take())
	}
	u.in.Close()
}

func TestJoinOverEachDialect(t *testing.T) {
	t.Parallel() // it waits for most of its time
	s, addrs, _ := serveArena(t)
	for _, dialect := range []string{"replica", "relay", "duplex", "realm"} {
		t.Run(dialect, func(t *testing.T) {
			args, first := []string{dialect, addrs[dialect]}, ""
			if dialect == "realm" {
				args, first = append(args, "--realm-plain", "--name", "ann", "--password-stdin"), "correct horse"
			}
			u := join(t, first, args...)
			u.waits("which is you", "who")
			u.waits("@", "map")
			u.waits("o ball, # wall\n", "map")
			u.types("walk 45 1.5")
			u.waits("ball ", "t 90\nwho")
			u.types("say hello there")
			u.waits(": hello there", "")
			u.types("no command is speech")
			u.waits(": no command is speech", "")
			for _, tt := range []struct{ line, want string }{
				{"walk", "write walk ANGLE SPEED"}, {"walk a b", "with numbers"}, {"walk 0 5", "the speed is at most 2"}, {"t x", "write throw ANGLE ENTITY with a number of degrees, such as throw 90 1"}, {"throw 1 2 3", "to speak, write say throw 1 2 3"}, {"help", "w a s d walk"},
			} {
				u.types(tt.line)
				u.waits(tt.want, "")
			}
			u.types("x")
			u.quits()
		})
	}
	begin := s.WorldStats().Ticks
	patient.Until(t, "all have left", func() bool {
		left, err := s.Players()
		if err != nil || len(left) > 0 && s.WorldStats().Ticks-begin > 600 {
			t.Fatalf("%v are left: %v", left, err)
		}
		return len(left) == 0
	})
}

// "--realm-profile miko adds the config extension (player speed f32, ball cooldown u16, ball speed f32, ball
// lifespan u16), entity types 0 player and 1 ball": by the byte, and as a player and bots see it.
func TestTheProfileMiko(t *testing.T) {
	t.Parallel() // it waits for most of its time
	miko, err := ours().profile("miko")
	if err != nil {
		t.Fatal(err)
	}
	// Its clients count ticks by themselves: at another rate what they do is refused as soon as they have counted three too many.
	_, addrs, ready := serveArena(t, func(c *front.Config) {
		c.TickRate = miko.tickRate
		c.RealmConfig, c.RealmExtension, c.RealmFirstType = miko.fields, miko.values, miko.firstType
	})
	conn, err := net.Dial("tcp", addrs["realm"])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	conn.Write([]byte{0x12, 0, 9}) // version
	var got []byte
	for want := []byte{0x3f, 0x4c, 0xcc, 0xcd, 0, 25, 0x40, 0x4c, 0xcc, 0xcd, 0, 100}; !bytes.HasSuffix(got, want); {
		var b [64]byte
		n, err := conn.Read(b[:])
		if got = append(got, b[:n]...); err != nil {
			t.Fatalf("%v: the config is % x, want % x at its end", err, got, want)
		}
	}
	u := join(t, "correct horse", "realm", addrs["realm"], "--realm-plain", "--realm-profile", "miko", "--name", "ann", "--password-stdin")
	u.waits("ball ", "t 90\nwho") // a ball flies for two seconds: a machine that was busy meanwhile has missed it
	u.waits("player ", "who")
	u.quits()
	bots := botsInTime("--mix realm=1 --realm-plain --realm-profile miko --ready-file " + ready)
	if bots.status != exitOK {
		t.Errorf("status %d: %s", bots.status, bots.err)
	}
	for _, line := range []string{"join realm --name ann --realm-profile x", "bots --realm-profile x --for 1s"} {
		if got := parley("", line); got.status != exitUsage || !strings.Contains(got.err, `--realm-profile must be plain or miko, not "x"`) {
			t.Errorf("%s: status %d, %s", line, got.status, got.err)
		}
	}
}

func TestASpectatorCannotPlay(t *testing.T) {
	_, addrs, _ := serveArena(t)
	u := join(t, "", "stamp", addrs["stamp"])
	u.types("d")
	u.waits("stamp has spectators only", "")
	u.waits("in sight", "who")
	u.quits()
}

func TestJoinIsToldThatTheGameIsOver(t *testing.T) {
	s, addrs, _ := serveArena(t)
	u := join(t, "", "replica", addrs["replica"], "--no-resume")
	u.waits("which is you", "who")
	s.Close()
	if status := u.ends(); status != exitFailed {
		t.Errorf("status %d: %s", status, u.out.take())
	}
	u.in.Close()
	if text := u.seen + u.out.take(); !strings.Contains(text, "server closing") || strings.Contains(text, "reported") {
		t.Errorf("it was told %q", text)
	}
}

// Who quits knows why it is over.
func TestWhoQuitsIsToldNothing(t *testing.T) {
	_, addrs, _ := serveArena(t)
	for _, dialect := range []string{"replica", "stamp", "relay", "duplex"} {
		u := join(t, "", dialect, addrs[dialect])
		u.out.take()
		u.quits()
		if text := u.out.take(); text != "" {
			t.Errorf("%s says %q", dialect, text)
		}
	}
}

// Who is not let in reads why once, and nothing of a connection that was closed for it.
func TestWhoIsNotLetInReadsWhyOnce(t *testing.T) {
	_, addrs, _ := serveArena(t)
	line := "join realm " + addrs["realm"] + " --realm-plain --password-stdin --name "
	if got := parley("correct horse\n", line+"ann"); got.status != exitOK {
		t.Fatalf("%+v", got)
	}
	for _, tt := range []struct{ name, password, want string }{
		{"ann", "incorrect horse\n", `realm does not let "ann" in: wrong_password: the account has another password`},
		{"bob", "short\n", `realm does not register "bob": invalid_password: a password has 8 to 128 bytes`},
		{"x", "correct horse\n", `realm does not register "x": invalid_pseudo: a name has 3 to 32 letters`},
	} {
		if got := parley(tt.password, line+tt.name); got.status != exitFailed || got.out != "" || !strings.Contains(got.err, tt.want) {
			t.Errorf("%+v, want %q", got, tt.want)
		}
	}
}

// A server that is not there is a sentence, too.
func TestJoinWithoutAServer(t *testing.T) {
	t.Parallel() // it waits for most of its time
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, dialect := range []string{"replica", "stamp"} {
		got := parley("", "join "+dialect+" "+silent.LocalAddr().String())
		if got.status != exitFailed || !strings.Contains(got.err, "no server answers at "+dialect+"://") {
			t.Errorf("%s: status %d, %q", dialect, got.status, got.err)
		}
	}
}

// Who plays is in the middle of the map; who watches has everybody on it.
func TestWhatAMapShows(t *testing.T) {
	g, err := world.NewGuess(arena.Game(), world.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := g.World()
	if f := sectionOf(w, 0); f != (section{0, 0, mapCells}) {
		t.Errorf("nobody is there: %+v", f)
	}
	kind := w.Schema().Kinds[0]
	for i, at := range [][2]float64{{-500, 480}, {500, -300}, {20, 500}} {
		values := make([]world.Value, len(kind.Fields))
		for i, field := range kind.Fields {
			values[i] = world.UintValue(field.Type, 0)
		}
		values[world.FieldX], values[world.FieldY] = world.FloatValue(world.F64, at[0]), world.FloatValue(world.F64, at[1])
		g.Put(uint16(i+1), kind, values)
	}
	if f := sectionOf(w, g.ID(2)); f != (section{500, -300, mapCells}) {
		t.Errorf("a player's is %+v", f)
	}
	f := sectionOf(w, 0)
	for id := range w.Entities() {
		if r, c, ok := f.at(w.Body(id).X, w.Body(id).Y); !ok {
			t.Errorf("%v is at %d, %d, off the map of %+v", id, r, c, f)
		}
	}
	for row := range mapHeight {
		for column := range mapWidth {
			x, y := f.place(row, column)
			if r, c, ok := f.at(x, y); r != row || c != column || !ok {
				t.Fatalf("what is at %d, %d is shown at %d, %d", row, column, r, c)
			}
		}
	}
}

func TestWhatJoinRefuses(t *testing.T) {
	for _, tt := range []struct {
		line, in string
		status   int
		want     string
	}{
		{"join", "", exitUsage, `"parley join" takes a dialect (replica, stamp, relay, duplex or realm)`},
		{"join morse", "", exitUsage, `there is no dialect "morse"`},
		{"join replica a b", "", exitUsage, "takes a dialect"},
		{"join replica nowhere", "", exitUsage, `"nowhere" is not an address; write host:port, such as 127.0.0.1:7000`},
		{"join realm 127.0.0.1:1", "", exitUsage, "--name is missing"},
		{"join realm 127.0.0.1:1 --name ann", "", exitUsage, "give it with --password-stdin"},
		{"join realm 127.0.0.1:1 --name ann --password-stdin", "", exitFailed, "standard input is empty; its first line is the password"},
		{"join realm 127.0.0.1:1 --name ann --password-stdin", "secret word\n", exitFailed, "cannot join realm at 127.0.0.1:1"},
		{"join realm 127.0.0.1:1 --name ann --fingerprint abc", "", exitUsage, `--fingerprint "abc" is not a SHA-256 in hex, which has 64 digits`},
		{"join duplex 127.0.0.1:1", "", exitFailed, "cannot join duplex at 127.0.0.1:1"},
		{"join duplex 127.0.0.1:1 --room A", "", exitUsage, `--room "A" is no name of a room: it has 1 to 32 of a-z, 0-9 and -`},
		{"join stamp 127.0.0.1:1 --room a", "", exitUsage, "stamp has no rooms to choose from"},
		{"join relay 127.0.0.1:1 --ticket 54 --name ann", "", exitUsage, "a ticket has its room and its name in it"},
	} {
		got := parley(tt.in, tt.line)
		if got.status != tt.status || !strings.Contains(got.err, tt.want) || strings.Count(got.err, "\n") != 1 {
			t.Errorf("%s: status %d, %q; want %d and %q", tt.line, got.status, got.err, tt.status, tt.want)
		}
	}
}

// What others say must not move the cursor about.
func TestOthersWordsArePlain(t *testing.T) {
	var out bytes.Buffer
	seat := &joinSeat{out: &out}
	for _, ev := range []client.Event{
		{Kind: client.Said, Name: "a\x1b[2Jnn", Text: "b\x1b[2Jc"}, {Kind: client.Said, Text: "who am I?"}, {Kind: client.Ended, Own: true, Text: "kicked: \x1b]0;x\a"},
	} {
		seat.notice(time.Time{}, ev)
	}
	if got, want := out.String(), "a·[2Jnn: b·[2Jc\nsomebody: who am I?\nkicked: ·]0;x·\n"; got != want {
		t.Errorf("it is %q, want %q", got, want)
	}
	if got := plain.Text("a\x1b[2Jb\u009bc\x7fd\ne grüß"); got != "a·[2Jb·c·d·e grüß" {
		t.Errorf("it is %q", got)
	}
}
