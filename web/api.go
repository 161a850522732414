package web

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// api is the operator's API: everything under /v1/.
type api struct {
	op          Operator
	token       [sha256.Size]byte // of the text after "Bearer "
	log         *slog.Logger
	places      chan struct{} // calls of the operator that are made at once
	waits       chan struct{} // calls of Match
	feed        *feed
	stats       func() any
	history     *history
	live        *live
	end         chan struct{} // closed when the server ends
	remembering sync.WaitGroup
	spec        []byte // /v1/openapi.json
}

// none is the type of a body or of an answer that is empty.
type none struct{}

// call is a row of the table of calls. The mux, /v1/openapi.json and docs/api.md are made from it.
type call struct {
	method, path string
	what         string // what it does, in a sentence

	body, answer reflect.Type
	mayBeEmpty   bool // the body

	status   int            // of success
	also     map[int]string // other statuses of success
	refusals map[int]string // those of every call left out
	example  any            // the body of the example in docs/api.md
	at       string         // the path of the example, if the path has names in it

	// Of serve and stream one is set.
	serve  func(a *api, w http.ResponseWriter, r *http.Request, body any) (status int, answer any, err error)
	stream func(a *api, w http.ResponseWriter, r *http.Request)
	says   string         // of a stream, what it is
	events []reflect.Type // and what its data are
	waits  bool           // it takes long, and none of the places
}

// everywhere are the refusals of every call.
var everywhere = map[int]string{
	http.StatusUnauthorized:        "the token is missing or wrong",
	http.StatusForbidden:           "the request comes from a page of another site",
	http.StatusMisdirectedRequest:  "the Host is no address and no name of --web-hosts",
	http.StatusInternalServerError: "the server failed; its log says why",
	http.StatusServiceUnavailable:  "the server is ending, too many calls wait, or the store of accounts does not answer",
}

// withBody are the refusals of every call with a body.
var withBody = map[int]string{
	http.StatusBadRequest:            "the body is not as described here",
	http.StatusRequestEntityTooLarge: "the body is longer than 64 KiB",
}

// row makes a row of the table whose function takes B and returns A.
func row[B, A any](c call, serve func(op Operator, r *http.Request, body B) (A, error)) call {
	c.body, c.answer = reflect.TypeFor[B](), reflect.TypeFor[A]()
	if c.status == 0 {
		c.status = http.StatusOK
		if c.answer == reflect.TypeFor[none]() {
			c.status = http.StatusNoContent
		}
	}
	c.serve = func(a *api, _ http.ResponseWriter, r *http.Request, body any) (int, any, error) {
		answer, err := serve(a.op, r, *body.(*B))
		return c.status, answer, err
	}
	return c
}

// newAPI returns the handler of /v1/.
func newAPI(c Config) (*api, http.Handler) {
	a := &api{op: c.Operator, token: sha256.Sum256([]byte(c.Token)), log: c.Log, places: make(chan struct{}, maxAtOnce), waits: make(chan struct{}, maxMatches), end: make(chan struct{})}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.feed, a.stats, a.history = newFeed(a.op, c.Stats, c.Ready), c.Stats, &history{op: a.op, stats: c.Stats}
	a.live = newLive(a.op, c.Ready, a.history)
	a.spec = openAPI(c.Title, calls)
	mux := http.NewServeMux()
	byPath := map[string]map[string]*call{}
	for i := range calls {
		c := &calls[i]
		if byPath[c.path] == nil {
			byPath[c.path] = map[string]*call{}
			mux.Handle(c.path, a.path(byPath[c.path]))
		}
		byPath[c.path][c.method] = c
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		a.refuse(w, r, refuse(http.StatusNotFound, "there is no %s; GET /v1/openapi.json has all paths", r.URL.Path))
	})
	return a, a.known(c.Hosts, mux)
}

// remember has the server's last ten minutes remembered from now on.
func (a *api) remember() {
	a.remembering.Go(func() { a.history.run(a.end) })
}

// stop ends streams and calls that wait. It is called once.
func (a *api) stop() {
	close(a.end)
	a.remembering.Wait()
	a.feed.close()
	a.live.close()
}

// known lets in requests by our own names, of no foreign page, with the token.
func (a *api) known(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !ours(hosts, r.Host):
			a.refuse(w, r, refuse(http.StatusMisdirectedRequest, "this server is not known by that name; ask by its address, or add the name to --web-hosts"))
		case foreign(r):
			a.refuse(w, r, refuse(http.StatusForbidden, "this API is not for pages of other sites"))
		case !a.allowed(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			a.refuse(w, r, refuse(http.StatusUnauthorized, "send the token of the file operator.token in the --data folder, as Authorization: Bearer TOKEN"))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// allowed compares hashes, which have the same length whatever a stranger sends, in constant time.
func (a *api) allowed(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], a.token[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// path serves the calls of a path by their methods.
func (a *api) path(methods map[string]*call) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead { // the server leaves out the body
			method = http.MethodGet
		}
		c := methods[method]
		if c == nil {
			var allow []string
			for m := range methods {
				if allow = append(allow, m); m == http.MethodGet {
					allow = append(allow, http.MethodHead)
				}
			}
			slices.Sort(allow)
			w.Header().Set("Allow", strings.Join(allow, ", "))
			a.refuse(w, r, refuse(http.StatusMethodNotAllowed, "%s is not for %s, which takes %s", r.Method, r.URL.Path, strings.Join(allow, ", ")))
			return
		}
		if c.stream != nil {
			c.stream(a, w, r)
			return
		}
		a.answer(w, r, c)
	})
}

// answer serves a call: it reads the body, does what is asked for and writes what came of it. Neither a slow sender nor a slow
// reader holds a place.
func (a *api) answer(w http.ResponseWriter, r *http.Request, c *call) {
	body, err := c.read(w, r)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	places := a.places
	if c.waits {
		places = nil
	}
	status, answer, err := func() (int, any, error) {
		if places != nil {
			select {
			case places <- struct{}{}:
				defer func() { <-places }() // also if it panics
			case <-r.Context().Done():
				return 0, nil, r.Context().Err()
			}
		}
		return c.serve(a, w, r, body)
	}()
	if refusal := (*Refusal)(nil); errors.As(err, &refusal) && !c.mayAnswer(refusal.Status) {
		err = refusal.Err // the table does not say that it can come to that, so it is a fault of ours
	}
	switch {
	case err != nil && r.Context().Err() != nil: // the client has left
	case err != nil:
		a.refuse(w, r, err)
	default:
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			a.log.Info("the operator's API", "method", r.Method, "path", r.URL.Path, "status", status, "peer", r.RemoteAddr)
		}
		send(w, status, answer)
	}
}

// mayAnswer reports whether the table has a status for the call.
func (c *call) mayAnswer(status int) bool {
	_, own := c.refusals[status]
	_, all := everywhere[status]
	_, body := withBody[status]
	return own || all || body && c.body != reflect.TypeFor[none]()
}

// refuse answers with an error. One that is no Refusal is ours, and its text is for the log alone.
func (a *api) refuse(w http.ResponseWriter, r *http.Request, err error) {
	refusal := &Refusal{Status: http.StatusInternalServerError, Err: errors.New("the server failed; its log says why")}
	if !errors.As(err, &refusal) {
		a.log.Error("the operator's API failed", "method", r.Method, "path", r.URL.Path, "err", err)
	} else if refusal.Status == http.StatusUnauthorized {
		a.log.Warn("the operator's API was asked without its token", "peer", r.RemoteAddr)
	}
	send(w, refusal.Status, struct {
		Error string `json:"error"`
	}{refusal.Error()})
}

// send writes an answer.
func send(w http.ResponseWriter, status int, answer any) {
	if _, empty := answer.(none); empty || answer == nil {
		w.WriteHeader(status)
		return
	}
	text, ok := answer.(json.RawMessage)
	if !ok {
		var err error
		if text, err = json.Marshal(answer); err != nil { // a float that JSON cannot say
			status, text = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written"}`)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(status)
	w.Write(append(text[:len(text):len(text)], '\n')) // its only error is that of a client that left
}

// unhurried lifts the server's deadlines from a connection whose request takes long, and takes the connection from those that
// strangers can push out. Later deadlines are the caller's.
func unhurried(w http.ResponseWriter, r *http.Request) (done func()) {
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Time{}) // without this, the context would end with the deadline
	control.SetWriteDeadline(time.Time{})
	if trust, ok := r.Context().Value(trustKey{}).(func(bool)); ok {
		trust(true)
		return func() { trust(false) }
	}
	return func() {}
}

// match waits for a match.
func match(a *api, w http.ResponseWriter, r *http.Request, body any) (int, any, error) {
	select {
	case a.waits <- struct{}{}:
		defer func() { <-a.waits }()
	default:
		return 0, nil, refuse(http.StatusServiceUnavailable, "%d calls wait for a match, and more may not; try again", maxMatches)
	}
	defer unhurried(w, r)()
	ctx, cancel := context.WithTimeout(r.Context(), matchPatience)
	defer cancel()
	go func() { // a server that ends does not wait for matches
		select {
		case <-a.end:
			cancel()
		case <-ctx.Done():
		}
	}()
	m, found, err := a.op.Match(ctx, *body.(*Wish))
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	switch {
	case found:
		return http.StatusOK, m, nil
	case r.Context().Err() != nil: // the client has left
		return 0, nil, r.Context().Err()
	case errors.Is(ctx.Err(), context.Canceled):
		return 0, nil, refuse(http.StatusServiceUnavailable, "the server is ending")
	case err == nil || errors.Is(err, context.DeadlineExceeded):
		return http.StatusNoContent, nil, nil
	}
	return 0, nil, err
}

// playerID reads the number of a player from a path.
func playerID(r *http.Request) (uint16, error) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 16)
	if err != nil {
		return 0, refuse(http.StatusNotFound, "there is no player %q: players have numbers, see GET /v1/rooms/%s/players", r.PathValue("id"), r.PathValue("room"))
	}
	return uint16(id), nil
}

// check refuses a ban that names nobody or two.
func (b *Banned) check() error {
	switch {
	case (b.Address == "") == (b.Account == ""):
		return refuse(http.StatusBadRequest, `give "address" or "account", and not both`)
	case b.Account != "":
		return nil
	}
	_, err := netip.ParsePrefix(b.Address)
	if err != nil {
		_, err = netip.ParseAddr(b.Address)
	}
	if err != nil {
		return refuse(http.StatusBadRequest, `"address" is %q: give an IP address, or a prefix such as 203.0.113.0/24`, b.Address)
	}
	return nil
}

// told refuses a reason that is too long for a dialect to say.
func told(reason string) error {
	if len(reason) > maxReason {
		return refuse(http.StatusBadRequest, `"reason" has %d bytes: the limit is %d`, len(reason), maxReason)
	}
	return nil
}
