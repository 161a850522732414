package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"parley/internal/admission"
	"parley/internal/proxy"
)

// PlayConfig sets up the players' part. It must not be changed after use.
type PlayConfig struct {
	Lobby Lobby

	// TLS, if set, has the part served over HTTPS. Its NextProtos must not have HTTP/2, as limits count connections. Default: plain HTTP.
	TLS *tls.Config

	// Sockets, if set, serves the WebSockets of players in browsers, at /ws/ and a dialect's name. from is the browser's address. secure says
	// that nobody on the way can read what it sends. It is called for requests of hosts and origins that may ask.
	Sockets func(w http.ResponseWriter, r *http.Request, from netip.AddrPort, secure bool)

	// AnyNumber lets an address have any number of connections, for a server whose players come through a proxy.
	AnyNumber bool

	// Files, if set, is a page of the operator's own in place of ours: index.html is at /, and its other files at their paths. The client library
	// stays at /parley.js. The folder should let no name lead out of it: os.Root does.
	Files fs.FS

	// Rooms lets players open rooms, with POST /play/rooms.
	Rooms bool

	// Hosts are names by which clients may ask, in addition to IP addresses and localhost. Another name is refused, as a foreign
	// site may have made it resolve to this server (DNS rebinding).
	Hosts []string

	// Origins are the sites whose pages may ask, as browsers write them: https://game.example. Default: only pages of the server itself.
	Origins []string

	// Proxies are the networks of proxies in front of the part. A request from one of their addresses counts as from the last address of
	// X-Forwarded-For that is not theirs. The header of others is not looked at. Default: there are none.
	Proxies []netip.Prefix

	// Banned reports whether an address is banned: its connections are closed at once, and those that are there with their next
	// request. Default: none is.
	Banned func(netip.Addr) bool

	// Log gets errors of connections and of the lobby. Default: they are discarded.
	Log *slog.Logger
}

// ListenPlay starts the players' part of the API at addr, host:port. With port 0 the system chooses the port. Its paths are
//
//	GET  /             the page on which people play in a browser. Its files are at /page/
//	                   (with Files: one of the operator's own)
//	GET  /parley.js    the client library for pages
//	GET  /play/server  what a client needs to connect
//	GET  /play/rooms   the rooms that anybody may enter
//	POST /play/rooms   a room of a mode with a free place, which is opened if there is none (with Rooms)
//	GET  /ws/DIALECT   the dialect over WebSocket (with Sockets)
//	POST /play/leave   the player of a session may not come back, as the tab of its browser is closed
//	POST /play/match   waits up to 30 seconds for others who want the same, and answers with their room and a ticket
//
// No token is needed. An address may look for rooms and matches 10 times a minute.
func ListenPlay(addr string, c PlayConfig) (*Page, error) {
	h := newPlay(c)
	ofAddress := maxPlayConnsOf
	if c.AnyNumber {
		ofAddress = maxPlayConns
	}
	h.guarded = !c.AnyNumber
	guard := newPlayGuard(maxPlayConns, ofAddress, func(from netip.Addr) bool { return !h.meets(from) })
	guard.proxies = proxy.Trust(c.Proxies)
	p := &Page{}
	p.server.Handler, p.server.ConnState, p.server.IdleTimeout = h, guard.watch, playIdle
	p.server.RegisterOnShutdown(h.stop)
	if err := p.listen(addr, c.TLS, c.Log, "play"); err != nil {
		h.stop()
		return nil, err
	}
	return p, nil
}

// PlayHandler returns the players' part, for a program with an HTTP server of its own.
func PlayHandler(c PlayConfig) http.Handler { return newPlay(c) }

// play is the players' part.
type play struct {
	PlayConfig
	guarded bool                           // connections are charged as they come, but for those of proxies
	paths   map[string]map[string]playCall // path, then method
	page    map[string]*pageFile           // by path
	log     *slog.Logger
	waits   chan struct{} // calls of Match
	end     context.Context
	stop    func() // ends those who wait

	clock func() time.Time

	mu    sync.Mutex
	calls *admission.Buckets // those that are answered with something
	heard *admission.Buckets // requests, whatever they are, but for WebSockets
	met   *admission.Buckets // connections

	listing sync.Mutex // held while rooms are listed, looked for and opened
	rooms   []PlayRoom // as they were at roomsAt, and those that were opened since
	roomsAt time.Time
	sent    map[string]int          // players who were told to go to a room since then
	opened  map[netip.Addr][]string // the rooms that players of an address have opened
}

// playCall answers a request: with a status and an answer, or with an error.
type playCall func(w http.ResponseWriter, r *http.Request, from netip.Addr) (status int, answer any, err error)

func newPlay(c PlayConfig) *play {
	p := &play{PlayConfig: c, log: c.Log, waits: make(chan struct{}, maxPlayWaits), clock: time.Now, sent: map[string]int{}, opened: map[netip.Addr][]string{}}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.end, p.stop = context.WithCancel(context.Background())
	var secret admission.Key
	rand.Read(secret[:])
	p.calls = admission.NewBuckets(playLimit(admission.Limit{Rate: 1, Burst: playCalls * playCallCost}), secret)
	p.heard = admission.NewBuckets(playLimit(admission.Limit{Rate: heardRate, Burst: heardAtOnce}), secret)
	p.met = admission.NewBuckets(playLimit(admission.Limit{Rate: metRate, Burst: metAtOnce}), secret)
	p.page = pageFiles(playDir)
	if p.Files != nil {
		p.page = map[string]*pageFile{libraryPath: p.page[libraryPath]}
	}
	p.paths = map[string]map[string]playCall{
		"/play/server": {http.MethodGet: p.server},
		"/play/rooms":  {http.MethodGet: p.list},
		"/play/match":  {http.MethodPost: p.match},
		"/play/leave":  {http.MethodPost: p.leave},
	}
	if c.Rooms {
		p.paths["/play/rooms"][http.MethodPost] = p.enter
	}
	return p
}

// playLimit limits addresses, and together those that one customer has.
func playLimit(address admission.Limit) admission.BucketsConfig {
	return admission.BucketsConfig{Source: address, Prefix: admission.Limit{Rate: hostsOfSite * address.Rate, Burst: hostsOfSite * address.Burst}, Total: admission.NoLimit}
}

// hears reports whether an address is listened to, and charges it for that. A refusal costs as much as an answer, so what asks in a
// loop gets none: its connection is closed.
func (p *play) hears(from netip.Addr) bool {
	if p.Banned != nil && p.Banned(from) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heard.Allow(p.clock(), admission.Host(from), 1)
}

// meets reports whether a connection of an address is taken, and charges the address for that.
func (p *play) meets(from netip.Addr) bool {
	if p.Banned != nil && p.Banned(from) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.AnyNumber || p.met.Allow(p.clock(), admission.Host(from), 1)
}

// ServeHTTP answers a request, if its name, its origin and the number of calls of its address are as they should be.
func (p *play) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	socket := p.Sockets != nil && strings.HasPrefix(r.URL.Path, socketPath)
	if socket { // sessions have limits of their own
		answer := &socketAnswer{ResponseWriter: w, hears: func() bool { return p.hearsRefusal(r) }}
		defer answer.end()
		w = answer
	} else if !p.hears(p.source(r)) {
		panic(http.ErrAbortHandler) // closes the connection, also before the requests that wait in it
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	origin := r.Header.Get("Origin")
	methods := p.paths[r.URL.Path]
	switch {
	case !ours(p.Hosts, r.Host):
		p.refuse(w, r, refuse(http.StatusMisdirectedRequest, "this server is not known by that name; ask by its address, or add the name to --play-hosts"))
		return
	case foreign(r) && !p.allows(origin):
		p.refuse(w, r, refuse(http.StatusForbidden, "this is not for pages of other sites; --play-origins can name them"))
		return
	case origin != "": // a page may read the answer
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Vary", "Origin")
	}
	if socket {
		p.socket(w, r)
		return
	}
	if f := p.page[r.URL.Path]; f != nil {
		h.Set("Content-Security-Policy", policyFor(r.Host, p.webTransport(r)))
		f.ServeHTTP(w, r)
		return
	}
	if methods == nil && p.serveFile(w, r) {
		return
	}
	if methods == nil {
		p.refuse(w, r, refuse(http.StatusNotFound, "there is no %s here; there are /play/server, /play/rooms and /play/match", shortened(r.URL.Path)))
		return
	}
	call, allowed := methods[cmp.Or(map[string]string{http.MethodHead: http.MethodGet}[r.Method], r.Method)], allowedOf(methods)
	switch {
	case r.Method == http.MethodOptions: // a browser asks before it sends a page's request; it costs nothing
		h.Set("Access-Control-Allow-Methods", allowed)
		h.Set("Access-Control-Allow-Headers", "Content-Type")
		w.WriteHeader(http.StatusNoContent)
	case call == nil:
		h.Set("Allow", allowed)
		p.refuse(w, r, refuse(http.StatusMethodNotAllowed, "%s takes %s, not %s", r.URL.Path, allowed, shortened(r.Method)))
	default:
		p.answer(w, r, call)
	}
}

func (p *play) answer(w http.ResponseWriter, r *http.Request, call playCall) {
	from := p.source(r)
	// The first two are as cheap as a refusal, and each page that is loaded makes these calls.
	if r.URL.Path != "/play/server" && r.URL.Path != "/play/leave" && !p.mayCall(from) {
		w.Header().Set("Retry-After", "6")
		p.refuse(w, r, refuse(http.StatusTooManyRequests, "too many calls from your address: at most %d a minute are answered", playCalls))
		return
	}
	status, answer, err := call(w, r, from)
	switch {
	case err != nil && r.Context().Err() != nil && !errors.As(err, new(*Refusal)): // the client has left
	case err != nil:
		p.refuse(w, r, err)
	default:
		send(w, status, answer)
	}
}

// mayCall charges a call to its address.
func (p *play) mayCall(from netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls.Allow(p.clock(), admission.Host(from), playCallCost)
}

// MayConnect refuses a request for a session of WebTransport by the name that it asks for, and by the site that its page is from. Its port is another
// than that of the page if a proxy serves the page, or if the UDP port of that number was in use.
func (c *PlayConfig) MayConnect(r *http.Request) error {
	switch {
	case !ours(c.Hosts, r.Host):
		return errors.New("this server is not known by that name; ask by its address, or add the name to --play-hosts")
	case elsewhere(r) && !c.allows(r.Header.Get("Origin")):
		return errors.New("this is not for pages of other sites; --play-origins can name them")
	}
	return nil
}

// allows reports whether pages of a site may ask.
func (c *PlayConfig) allows(origin string) bool {
	return slices.ContainsFunc(c.Origins, func(o string) bool {
		return o != "" && strings.EqualFold(strings.TrimSuffix(o, "/"), origin)
	})
}

// refuse answers with an error. One that is no Refusal is ours, and its text is for the log alone.
func (p *play) refuse(w http.ResponseWriter, r *http.Request, err error) {
	refusal := &Refusal{Status: http.StatusInternalServerError, Err: errors.New("the server failed; its log says why")}
	if !errors.As(err, &refusal) {
		p.log.Error("the players' API failed", "proto", "play", "path", r.URL.Path, "err", err)
	}
	send(w, refusal.Status, struct {
		Error string `json:"error"`
	}{refusal.Error()})
}

// server answers /play/server.
func (p *play) server(_ http.ResponseWriter, r *http.Request, _ netip.Addr) (int, any, error) {
	s := p.Lobby.About()
	dialects := make(map[string]PlayAddress, len(s.Dialects))
	for name, a := range s.Dialects {
		a.Address = reachable(a.Address, r.Host)
		dialects[name] = a
	}
	s.Dialects, s.WebTransport = dialects, p.webTransport(r)
	return http.StatusOK, s, nil
}

// webTransport returns where the client of a request finds WebTransport; nil if it is off, or out of reach: a page would wait for it in vain.
func (p *play) webTransport(r *http.Request) *PlayWT {
	wt := p.Lobby.About().WebTransport
	if wt != nil && wt.Loopback && !(isLoopback(r.Host) && p.source(r).Unmap().IsLoopback()) {
		return nil
	}
	return wt
}

// match answers /play/match.
func (p *play) match(w http.ResponseWriter, r *http.Request, from netip.Addr) (int, any, error) {
	body, err := readPlay[Wish](w, r)
	if err = cmp.Or(err, checkMode(body.Mode)); err != nil {
		return 0, nil, err
	}
	select {
	case p.waits <- struct{}{}:
		defer func() { <-p.waits }()
	default:
		return 0, nil, refuse(http.StatusServiceUnavailable, "too many players wait for a match; try again")
	}
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Time{}) // without this, the context would end with the deadline of the body
	control.SetWriteDeadline(time.Time{})
	ctx, cancel := context.WithTimeout(r.Context(), matchPatience)
	defer cancel()
	defer context.AfterFunc(p.end, cancel)()
	m, found, err := p.Lobby.Match(ctx, from, body)
	control.SetWriteDeadline(time.Now().Add(writeTimeout))
	switch {
	case err != nil:
		return 0, nil, err
	case !found && p.end.Err() != nil:
		return 0, nil, refuse(http.StatusServiceUnavailable, "the server is ending")
	case !found:
		return http.StatusNoContent, nil, nil
	}
	addresses := make([]Address, len(m.Addresses))
	for i, a := range m.Addresses {
		a.Address = reachable(a.Address, r.Host)
		addresses[i] = a
	}
	m.Addresses = addresses
	return http.StatusOK, m, nil
}

// readPlay reads a body.
func readPlay[T any](w http.ResponseWriter, r *http.Request) (T, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxPlayBody)
	body, err := (&call{body: reflect.TypeFor[T](), mayBeEmpty: reflect.TypeFor[T]() == reflect.TypeFor[PlayWish]()}).read(w, r)
	if err != nil {
		var none T
		return none, err
	}
	return *body.(*T), nil
}

// checkMode refuses a mode that a game would not want and an operator could not read. Operators see modes in terminals, in which a
// control character moves the cursor, and one that turns the reading direction makes a mode look like another.
func checkMode(mode string) error {
	switch {
	case len(mode) > maxMode:
		return refuse(http.StatusBadRequest, `"mode" has %d bytes: the limit is %d`, len(mode), maxMode)
	case strings.ContainsFunc(mode, func(r rune) bool { return !unicode.IsPrint(r) }):
		return refuse(http.StatusBadRequest, `"mode" has characters that cannot be shown; give letters, digits, signs and spaces`)
	}
	return nil
}

// source returns the address that a request comes from.
func (c *PlayConfig) source(r *http.Request) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr) // it is the server's own text
	return proxy.Trust(c.Proxies).Forwarded(at.Addr(), r.Header.Values("X-Forwarded-For"))
}

func allowedOf(methods map[string]playCall) string {
	var list []string
	for m := range methods {
		list = append(list, m)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// shortened is a stranger's text for an error.
func shortened(text string) string {
	if len(text) > 64 {
		return text[:64] + "…"
	}
	return text
}
