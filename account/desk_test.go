package account_test

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"time"

	"parley/account"
	"parley/account/storetest"
	"parley/internal/patient"
)

const password = "correct horse"

var (
	home     = netip.MustParseAddr("192.0.2.1")
	operator netip.Addr
)

// stranger returns one of many addresses.
func stranger(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
}

// A desk is a Service whose calls wait for their answers.
type desk struct {
	*account.Service
	t     testing.TB
	store *gate

	mu    sync.Mutex
	ended []account.EndReason // calls of OnEnd
}

// newDesk starts a Service with cheap hashes on a store in memory.
func newDesk(t testing.TB, config account.Config) *desk {
	d := &desk{t: t, store: &gate{Store: &storetest.Memory{}}}
	config.OnEnd = func(_ *account.Session, why account.EndReason) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.ended = append(d.ended, why)
	}
	d.Service = account.New(d.store, account.Cheap(config))
	t.Cleanup(d.Close)
	return d
}

// wait makes a call and waits for its answer.
func (d *desk) wait(call func(done func(account.Answer)) error) account.Answer {
	d.t.Helper()
	answers := make(chan account.Answer, 1)
	if err := call(func(a account.Answer) { answers <- a }); err != nil {
		d.t.Fatal(err)
	}
	return patient.Value(answers)
}

func (d *desk) register(from netip.Addr, name, password string) account.Answer {
	d.t.Helper()
	return d.wait(func(done func(account.Answer)) error { return d.Register(from, name, password, done) })
}

func (d *desk) login(from netip.Addr, name, password string) account.Answer {
	d.t.Helper()
	return d.wait(func(done func(account.Answer)) error { return d.Login(from, name, password, done) })
}

func (d *desk) ban(name string, until time.Time) account.Answer {
	d.t.Helper()
	return d.wait(func(done func(account.Answer)) error { return d.Ban(name, until, "", done) })
}

// make registers accounts with the right password.
func (d *desk) make(names ...string) {
	d.t.Helper()
	for _, name := range names {
		d.want("register "+name, d.register(operator, name, password), account.OK)
	}
}

// visit logs in and out, so that an address is known.
func (d *desk) visit(from netip.Addr, name string) {
	d.t.Helper()
	a := d.login(from, name, password)
	d.want("visit of "+name, a, account.OK)
	a.Session.Logout()
}

func (d *desk) want(what string, a account.Answer, want account.Result) {
	d.t.Helper()
	if a.Result != want {
		d.t.Errorf("%s: %v (%v), want %v", what, a.Result, a.Err, want)
	}
}

// wantEnded wants OnEnd to have been called with these.
func (d *desk) wantEnded(want ...account.EndReason) {
	d.t.Helper()
	d.login(operator, "no such name", "") // OnEnd comes before its answer
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.ended) != len(want) {
		d.t.Fatalf("ended %v, want %v", d.ended, want)
	}
	for i := range want {
		if d.ended[i] != want[i] {
			d.t.Errorf("ended %v, want %v", d.ended, want)
		}
	}
}

// A gate is a store that can be stopped, and made to fail.
type gate struct {
	account.Store

	mu    sync.Mutex
	stop  map[string]chan struct{} // calls that wait for the channel, by method
	fails map[string]error
	calls map[string]int
}

// hold stops a method until the function that it returns is called.
func (g *gate) hold(method string) (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := make(chan struct{})
	if g.stop == nil {
		g.stop = map[string]chan struct{}{}
	}
	g.stop[method] = c
	return func() {
		g.mu.Lock()
		delete(g.stop, method)
		g.mu.Unlock()
		close(c)
	}
}

// fail has a method fail, or no more.
func (g *gate) fail(method string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fails == nil {
		g.fails = map[string]error{}
	}
	g.fails[method] = err
}

func (g *gate) pass(ctx context.Context, method string) error {
	g.mu.Lock()
	if g.calls == nil {
		g.calls = map[string]int{}
	}
	g.calls[method]++
	c, err := g.stop[method], g.fails[method]
	g.mu.Unlock()
	if err != nil || c == nil {
		return err
	}
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) called(method string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls[method]
}

func (g *gate) Find(ctx context.Context, key string) (account.Record, error) {
	if err := g.pass(ctx, "Find"); err != nil {
		return account.Record{}, err
	}
	return g.Store.Find(ctx, key)
}

func (g *gate) Create(ctx context.Context, r account.Record) (account.Record, error) {
	if err := g.pass(ctx, "Create"); err != nil {
		return account.Record{}, err
	}
	return g.Store.Create(ctx, r)
}

func (g *gate) Enter(ctx context.Context, id account.ID, v account.Visit) error {
	if err := g.pass(ctx, "Enter"); err != nil {
		return err
	}
	return g.Store.Enter(ctx, id, v)
}

func (g *gate) Known(ctx context.Context, id account.ID, from netip.Prefix) (time.Time, error) {
	if err := g.pass(ctx, "Known"); err != nil {
		return time.Time{}, err
	}
	return g.Store.Known(ctx, id, from)
}

func (g *gate) SetBan(ctx context.Context, id account.ID, b account.Ban) error {
	if err := g.pass(ctx, "SetBan"); err != nil {
		return err
	}
	return g.Store.SetBan(ctx, id, b)
}

func (g *gate) Ousted(ctx context.Context, ids []account.ID, now time.Time) (banned, deleted []account.ID, err error) {
	if err := g.pass(ctx, "Ousted"); err != nil {
		return nil, nil, err
	}
	return g.Store.Ousted(ctx, ids, now)
}
