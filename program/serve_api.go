package program

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	front "parley"
	"parley/cluster"
	"parley/web"
	"parley/world"
)

// operator is a server as the operator's API knows it.
type operator struct {
	server   *front.Server
	game     string
	node     string
	tickRate int
	plain    bool // realm is without TLS
	atlas    atlas
	cluster  *clusterFlags
	browsers func(dialect string) []web.Address // where a dialect is for browsers
}

var _ web.Operator = (*operator)(nil)

// operate gives the page the API of a server, with the token of the data folder.
func (f *serveFlags) operate(c *web.Config, s *front.Server) error {
	token, err := web.OperatorToken(f.data)
	if err != nil {
		return fmt.Errorf("--data: the operator's token: %w", err)
	}
	c.Token, c.Operator = token, &operator{server: s, game: f.app.game.Name, node: f.cluster.nodeName(), tickRate: f.tickRate, plain: f.realmPlain, cluster: &f.cluster, browsers: f.play.addresses}
	return nil
}

// statuses are what the API answers to the errors of a server.
var statuses = []struct {
	err    error
	status int
}{
	{front.ErrClosed, http.StatusServiceUnavailable},
	{front.ErrTooManyWait, http.StatusServiceUnavailable},
	{front.ErrNoAnswer, http.StatusServiceUnavailable},
	{front.ErrBanned, http.StatusForbidden},
	{front.ErrNoRoom, http.StatusNotFound},
	{front.ErrNoPlayer, http.StatusNotFound},
	{front.ErrNoBan, http.StatusNotFound},
	{front.ErrNoAccount, http.StatusNotFound},
	{front.ErrRoomThere, http.StatusConflict},
	{front.ErrTooManyRooms, http.StatusConflict},
	{front.ErrMainRoom, http.StatusConflict},
	{front.ErrTooManyBans, http.StatusConflict},
	{front.ErrNoTicketKey, http.StatusConflict},
	{front.ErrBanNotKept, http.StatusInternalServerError}, // with its text, which says that the ban holds
	{front.ErrBan, http.StatusBadRequest},
	{front.ErrTicket, http.StatusBadRequest},
	{cluster.ErrNoNode, http.StatusNotFound},
	{cluster.ErrNoRoom, http.StatusNotFound},
	{cluster.ErrNodeName, http.StatusConflict},
	{cluster.ErrUnavailable, http.StatusServiceUnavailable},
	{front.ErrMatch, http.StatusBadRequest},
}

// refusal returns an error of the server with its status. other is that of an error that is not in the table: 0 if it is the
// server's own fault.
func refusal(err error, other int) error {
	if err == nil {
		return nil
	}
	for _, s := range statuses {
		if errors.Is(err, s.err) {
			other = s.status
			break
		}
	}
	if other == 0 {
		return err
	}
	text := err.Error()
	for _, prefix := range []string{"parley: ", "cluster: ", "gateway: ", "world: ", "match: no such match: "} { // of packages that a caller over HTTP does not know
		text = strings.ReplaceAll(text, prefix, "")
	}
	return &web.Refusal{Status: other, Err: errors.New(text)}
}

// Server says what the server is.
func (o *operator) Server() (web.Server, error) {
	rooms, err := o.server.Rooms()
	s := web.Server{Cluster: o.cluster.name, Name: o.game, Version: thisBuild("").Version, Node: o.node, TickRate: o.tickRate, Rooms: len(rooms), Addresses: o.addresses()}
	for _, a := range s.Addresses {
		s.Addresses = append(s.Addresses, o.browsers(a.Dialect)...)
	}
	for _, r := range rooms {
		s.Players += r.Players
	}
	return s, refusal(err, 0)
}

// addresses are where the dialects listen, but for browsers.
func (o *operator) addresses() []web.Address { return addressesOf(o.server, o.plain) }

// addressesOf returns where the dialects of a server listen, and over which carrier. plain says that realm is without TLS.
func addressesOf(s *front.Server, plain bool) []web.Address {
	list := []web.Address{}
	for _, a := range s.Addrs() {
		carrier := "udp"
		switch {
		case a.Name == "duplex", a.Name == "realm" && plain:
			carrier = "tcp"
		case a.Name == "realm":
			carrier = "tls"
		}
		list = append(list, web.Address{Dialect: a.Name, Carrier: carrier, Address: a.Addr.String()})
	}
	return list
}

// Rooms returns all rooms.
func (o *operator) Rooms() ([]web.Room, error) {
	rooms, err := o.server.Rooms()
	list := make([]web.Room, len(rooms))
	for i, r := range rooms {
		list[i] = o.room(r)
	}
	return list, refusal(err, 0)
}

func (o *operator) room(r front.RoomState) web.Room {
	room := web.Room{
		Name: r.Name, State: web.Awake, Mode: r.Mode, Seed: web.Seed(r.Seed), Open: !r.Closed, MaxPlayers: r.MaxPlayers, Accounts: append([]string{}, r.Accounts...), Idle: -1,
		Players: r.Players, Away: r.Away, Tick: r.Tick, TickP99: milliseconds(r.TickP99), LatelyP50: milliseconds(r.LatelyP50), LatelyP99: milliseconds(r.LatelyP99), Late: r.Late, Kept: r.Kept, Node: o.node,
	}
	if r.Asleep {
		room.State = web.Asleep
	}
	if r.Idle >= 0 && (r.Idle > 0 || r.Name != front.MainRoom) { // the room main stays, unless it is told otherwise
		room.Idle = int64(r.Idle / time.Second)
	}
	return room
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Room returns a room. Its result is that of the last room of that name that the game has ended.
func (o *operator) Room(name string) (web.Room, error) {
	rooms, err := o.server.Rooms()
	if err != nil {
		return web.Room{}, refusal(err, 0)
	}
	room, there := web.Room{Name: name, State: web.Over, Accounts: []string{}, Node: o.node}, false
	for _, r := range rooms {
		if r.Name == name {
			room, there = o.room(r), true
		}
	}
	if e, ended := o.server.Result(name); ended {
		if room.Ended, room.Result = &e.At, e.Result; !there {
			room.Tick = e.Tick
		}
	} else if !there {
		return web.Room{}, refusal(fmt.Errorf("%w: %s", front.ErrNoRoom, name), 0)
	}
	return room, nil
}

// Open opens a room.
func (o *operator) Open(n web.NewRoom) (web.Room, error) {
	room := front.Room{
		Name: n.Name, Seed: uint64(n.Seed), Mode: n.Mode, MaxPlayers: n.MaxPlayers, Closed: n.Open != nil && !*n.Open, Accounts: n.Accounts, Idle: time.Duration(n.Idle) * time.Second,
	}
	if err := o.server.Open(room); err != nil {
		return web.Room{}, refusal(err, http.StatusBadRequest)
	}
	return o.Room(n.Name)
}

// CloseRoom closes a room.
func (o *operator) CloseRoom(name string) error { return refusal(o.server.CloseRoom(name), 0) }

// Players returns the players of a room, or of all.
func (o *operator) Players(room string) ([]web.Player, error) {
	players, err := o.server.Players()
	if errors.Is(err, front.ErrSilent) { // the list has the others
		o.server.Log().Warn("the list of players is not whole", "err", err)
	} else if err != nil {
		return nil, refusal(err, 0)
	}
	list := []web.Player{}
	for _, p := range players {
		if room != "" && p.Room != room {
			continue
		}
		address := ""
		if p.Addr.IsValid() {
			address = p.Addr.String()
		}
		list = append(list, web.Player{
			ID: uint16(p.ID), Name: p.Name, Dialect: p.Dialect, Carrier: p.Carrier, Room: p.Room, Address: address, Since: p.Since.UTC().Truncate(time.Millisecond), RTT: milliseconds(p.RTT), Away: p.Away, Conn: p.Conn,
			BytesIn: p.Traffic.In, BytesOut: p.Traffic.Out, BytesArrived: p.Traffic.Arrived, BytesLost: p.Traffic.Lost,
		})
	}
	if room == "" || len(list) > 0 {
		return list, nil
	}
	rooms, err := o.server.Rooms()
	if err == nil && !slices.ContainsFunc(rooms, func(r front.RoomState) bool { return r.Name == room }) {
		err = fmt.Errorf("%w: %s", front.ErrNoRoom, room)
	}
	return list, refusal(err, 0)
}

// Kick removes a player.
func (o *operator) Kick(room string, id uint16, reason string) error {
	err := o.server.Kick(room, world.PlayerID(id), reason)
	if errors.Is(err, front.ErrNoPlayer) {
		if _, noRoom := o.Players(room); noRoom != nil {
			return noRoom
		}
		err = fmt.Errorf("%w: %d in %s", err, id, room)
	}
	return refusal(err, 0)
}

// Bans returns all bans.
func (o *operator) Bans() ([]web.Ban, error) {
	bans, err := o.server.Bans()
	list := make([]web.Ban, len(bans))
	for i, b := range bans {
		list[i] = banTold(b)
	}
	return list, refusal(err, 0)
}

// banTold is a ban as the API has it. A prefix of one address is that address.
func banTold(b front.Ban) web.Ban {
	shown := web.Ban{Banned: web.Banned{Account: b.Account}, Reason: b.Reason}
	switch {
	case !b.Prefix.IsValid():
	case b.Prefix.IsSingleIP():
		shown.Address = b.Prefix.Addr().String()
	default:
		shown.Address = b.Prefix.String()
	}
	if !b.Until.IsZero() {
		shown.Until = new(b.Until.UTC())
	}
	return shown
}

// banOf is a ban as the server has it.
func banOf(b web.Banned) (ban front.Ban, err error) {
	if ban.Account = b.Account; b.Address != "" {
		ban.Prefix, err = front.ParsePrefix(b.Address)
	}
	return ban, err
}

// Ban bans an address or an account.
func (o *operator) Ban(b web.Ban) (web.Ban, error) {
	ban, err := banOf(b.Banned)
	if err == nil {
		if ban.Reason = b.Reason; b.Until != nil {
			ban.Until = *b.Until
		}
		err = o.server.Ban(ban)
	}
	return banTold(ban), refusal(err, 0)
}

// Unban lifts a ban.
func (o *operator) Unban(b web.Banned) error {
	ban, err := banOf(b)
	if err == nil {
		err = o.server.Unban(ban)
	}
	return refusal(err, 0)
}

// Say says a line of chat.
func (o *operator) Say(s web.Say) error {
	return refusal(o.server.Broadcast(s.Room, s.Text), http.StatusBadRequest)
}

// Ticket makes a ticket.
func (o *operator) Ticket(n web.NewTicket) (web.Ticket, error) {
	valid := time.Duration(cmp.Or(n.TTL, 60)) * time.Second
	expires := time.Now().Add(valid)
	ticket, err := o.server.Ticket(n.Room, n.Name, valid)
	if errors.Is(err, front.ErrNoTicketKey) {
		err = fmt.Errorf("%w: start the server with --ticket-key-file", err)
	}
	return web.Ticket{Ticket: hex.EncodeToString(ticket), Room: cmp.Or(n.Room, front.MainRoom), Expires: expires.UTC().Truncate(time.Second)}, refusal(err, 0)
}

// Match waits for a match.
func (o *operator) Match(ctx context.Context, w web.Wish) (web.Match, bool, error) {
	m, err := o.server.Match(ctx, front.MatchRequest{Name: w.Name, Mode: w.Mode, Players: w.Players})
	switch {
	case errors.Is(err, front.ErrNobody):
		return web.Match{}, false, nil
	case err != nil:
		return web.Match{}, false, refusal(err, 0)
	}
	return web.Match{Room: m.Room, Ticket: hex.EncodeToString(m.Ticket), Addresses: addressesFor(m, o.addresses())}, true, nil
}

// addressesFor returns where the players of a match are to connect: to the server of a cluster that has the room, as this one writes its own addresses.
func addressesFor(m front.MatchResult, own []web.Address) []web.Address {
	if m.Addrs == nil {
		return own
	}
	var list []web.Address
	for _, a := range own {
		if at := m.Addrs[a.Dialect]; at != "" {
			a.Address = at
			list = append(list, a)
		}
	}
	return list
}

// LogLevel returns the least level that is logged.
func (o *operator) LogLevel() slog.Level { return o.server.LogLevel() }

// SetLogLevel sets it.
func (o *operator) SetLogLevel(level slog.Level) { o.server.SetLogLevel(level) }

// LogLines returns the newest lines of the log.
func (o *operator) LogLines() []web.LogLine {
	tail := o.server.LogTail()
	list := make([]web.LogLine, len(tail))
	for i, l := range tail {
		list[i] = web.LogLine{Time: l.Time.UTC(), Level: strings.ToLower(l.Level.String()), Text: l.Text}
	}
	return list
}

// Ended returns the newest rooms that their games have ended.
func (o *operator) Ended() []web.Ending {
	results, err := o.server.Results()
	if err != nil { // the server is ending, and the rooms with it
		return nil
	}
	list := make([]web.Ending, len(results))
	for i, e := range results {
		list[i] = web.Ending{Room: e.Room, Result: e.Result, Tick: e.Tick, Ended: e.At.UTC()}
	}
	return list
}
