package program

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	front "parley"
	"parley/internal/carry"
	"parley/internal/carry/ws"
	"parley/internal/carry/wt"
	"parley/internal/proxy"
	"parley/play/schema"
	"parley/web"
	"parley/world"
)

// playFlags are the flags of the players' part of the API.
type playFlags struct {
	addr, hosts, origins string
	rooms                bool
	pageDir              string
	proxies              proxyFlag

	browsers *carry.Building            // nil if it is off
	at       *atomic.Pointer[webAddr]   // where it listens; of nil if it is off
	wt       *atomic.Pointer[wt.Server] // of nil if it is off
	files    *os.Root                   // of pageDir; nil if there is none
}

func (f *playFlags) register(cmd *cobra.Command) {
	f.at, f.wt = new(atomic.Pointer[webAddr]), new(atomic.Pointer[wt.Server])
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "play", ":8000", "where players in browsers come in, and players find rooms and matches (TCP)")
	flags.StringVar(&f.hosts, "play-hosts", "", "host names under which players may ask at --play, as a.example,b.example")
	flags.StringVar(&f.origins, "play-origins", "", "sites whose pages may ask at --play, as https://a.example,https://b.example")
	flags.StringVar(&f.proxies.text, "behind-proxy", "", "networks of proxies in front of --play, realm and duplex, as 10.0.0.0/8,192.0.2.7: they say who the player is, by X-Forwarded-For and the PROXY protocol")
	flags.StringVar(&f.pageDir, "play-page", "", "a folder with a page of your own, which is served at / of --play instead of ours: index.html and its files")
	flags.BoolVar(&f.rooms, "player-rooms", false, "players may open rooms at --play, at most 4 from each address")
}

// webAddr is where --play listens for WebSockets.
type webAddr struct{ carrier, addr string }

// addresses returns where a dialect is for browsers, beside its own address.
func (f *playFlags) addresses(dialect string) (list []web.Address) {
	if f.browsers == nil || f.browsers.Find(dialect) == nil {
		return nil
	}
	if at := f.at.Load(); at != nil {
		list = append(list, web.Address{Dialect: dialect, Carrier: at.carrier, Address: at.addr})
	}
	if s := f.webTransport(); s != nil {
		list = append(list, web.Address{Dialect: dialect, Carrier: "wt", Address: s.Addr().String()})
	}
	return list
}

// proxyFlag is the networks that may say who a client is.
type proxyFlag struct {
	text string
	list proxy.Trust
}

// check refuses networks that are none, and origins that no browser would send.
func (f *playFlags) check() error {
	var err error
	if f.proxies.list, err = proxy.ParseTrust(f.proxies.text); err != nil {
		return fmt.Errorf("--behind-proxy: %w", err)
	}
	for _, o := range splitList(f.origins) {
		if u, err := url.Parse(o); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" {
			return fmt.Errorf("--play-origins has %q, which is no site; write it as browsers do, such as https://game.example", o)
		}
	}
	return f.openPage()
}

// openPage opens the folder of the operator's own page, if there is one. No name leads out of it, and no link.
func (f *playFlags) openPage() (err error) {
	if f.pageDir == "" {
		return nil
	}
	if f.files, err = os.OpenRoot(f.pageDir); err != nil {
		return fmt.Errorf("--play-page: %w", err)
	}
	if err := web.CheckFiles(f.files.FS()); err != nil {
		f.files.Close()
		return fmt.Errorf("--play-page %s: %w", f.pageDir, err)
	}
	return nil
}

// closePage ends the use of that folder.
func (f *playFlags) closePage() {
	if f.files != nil {
		f.files.Close()
	}
}

// listen serves the players' part, unless it is off.
func (f *playFlags) listen(s *front.Server, game front.Game, c front.Config, own *certificate) (*web.Page, error) {
	if f.addr == front.Off {
		return nil, nil
	}
	l, err := newLobby(s, game, c)
	if err != nil {
		return nil, err
	}
	hosts := splitList(f.hosts)
	if own != nil {
		hosts = append(hosts, own.names...)
	}
	config := web.PlayConfig{Lobby: l, Sockets: ws.NewServer(f.browsers).Serve, AnyNumber: c.PerAddress < 0, TLS: own.pages(), Rooms: f.rooms, Hosts: hosts, Origins: splitList(f.origins), Proxies: f.proxies.list, Banned: s.Banned, Log: s.Log()}
	if f.files != nil {
		config.Files = f.files.FS()
	}
	page, err := web.ListenPlay(f.addr, config)
	if wrong := (*net.AddrError)(nil); errors.As(err, &wrong) {
		return nil, fmt.Errorf("--play: %s: %s; write host:port, such as :8000, or off", wrong.Addr, wrong.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("--play: %w", err)
	}
	if err := f.listenWT(page.Addr(), &config, l, own, c.PerAddress < 0); err != nil {
		closePages(page)
		return nil, fmt.Errorf("--play: %w", err)
	}
	at := webAddr{"ws", page.Addr().String()}
	if own != nil {
		at.carrier = "wss"
	}
	f.at.Store(&at)
	return page, nil
}

// splitList returns the items of a list that is written with commas.
func splitList(text string) (list []string) {
	for _, item := range strings.Split(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// lobby is a server as players know it before they play.
type lobby struct {
	server    *front.Server
	about     web.PlayServer
	addresses []web.Address
	tickets   bool // no room is open
	wt        atomic.Pointer[func() *web.PlayWT]
}

func newLobby(s *front.Server, game front.Game, c front.Config) (*lobby, error) {
	kinds, err := game.Schema()
	if err != nil {
		return nil, err
	}
	page, err := schema.PageOf(game)
	if err != nil {
		return nil, err
	}
	l := &lobby{server: s, tickets: c.TicketKey != nil}
	l.about = web.PlayServer{Game: game.Name, Fingerprint: fmt.Sprintf("%016x", kinds.Fingerprint()), TickRate: c.TickRate, Schema: page, Dialects: map[string]web.PlayAddress{}}
	l.addresses = addressesOf(s, c.RealmPlain)
	for _, a := range l.addresses {
		l.about.Dialects[a.Dialect] = web.PlayAddress{Carrier: a.Carrier, Address: a.Address}
	}
	return l, nil
}

func (l *lobby) About() web.PlayServer {
	about := l.about
	if wt := l.wt.Load(); wt != nil {
		about.WebTransport = (*wt)()
	}
	return about
}

func (l *lobby) Depart(token [16]byte) { l.server.Depart(token) }

func (l *lobby) OpenRooms() (list []web.PlayRoom, err error) {
	if l.tickets {
		return nil, nil
	}
	rooms, err := l.server.Rooms()
	for _, r := range rooms {
		if !r.Closed {
			list = append(list, web.PlayRoom{Name: r.Name, Mode: r.Mode, Players: r.Players, MaxPlayers: r.MaxPlayers})
		}
	}
	return list, refusal(err, 0)
}

func (l *lobby) OpenRoom(r web.PlayRoom) (web.PlayRoom, error) {
	if l.tickets {
		return r, &web.Refusal{Status: http.StatusConflict, Err: errors.New("rooms of this server need a ticket, so players cannot open any; ask for a match")}
	}
	if r.MaxPlayers < 0 || r.MaxPlayers > world.MaxPlayers {
		return r, &web.Refusal{Status: http.StatusBadRequest, Err: fmt.Errorf(`"max_players" is %d: give 1 to %d, or leave it out`, r.MaxPlayers, world.MaxPlayers)}
	}
	if err := l.server.Open(front.Room{Name: r.Name, Mode: r.Mode, MaxPlayers: r.MaxPlayers, Seed: randomSeed(), ByPlayers: true}); err != nil {
		return r, refusal(err, 0)
	}
	rooms, err := l.OpenRooms()
	for _, x := range rooms {
		if x.Name == r.Name {
			return x, nil
		}
	}
	return r, err
}

func (l *lobby) Match(ctx context.Context, from netip.Addr, who web.Wish) (web.Match, bool, error) {
	m, err := l.server.Match(ctx, front.MatchRequest{Name: who.Name, Mode: who.Mode, Players: who.Players, From: from})
	switch {
	case errors.Is(err, front.ErrNobody) || err != nil && ctx.Err() != nil:
		return web.Match{}, false, nil
	case err != nil:
		return web.Match{}, false, refusal(err, 0)
	}
	return web.Match{Room: m.Room, Ticket: hex.EncodeToString(m.Ticket), Addresses: addressesFor(m, l.addresses)}, true, nil
}
