package web

import (
	"cmp"
	"crypto/rand"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"parley/internal/admission"
)

// list answers GET /play/rooms.
func (p *play) list(_ http.ResponseWriter, _ *http.Request, _ netip.Addr) (int, any, error) {
	p.listing.Lock()
	defer p.listing.Unlock()
	rooms, err := p.seldomRooms()
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, PlayRooms{some(rooms[:min(len(rooms), maxListed)])}, nil
}

// seldomRooms returns the open rooms, at most roomsFresh old. p.listing is held.
func (p *play) seldomRooms() ([]PlayRoom, error) {
	if now := p.clock(); p.rooms == nil || now.Sub(p.roomsAt) >= roomsFresh {
		rooms, err := p.Lobby.OpenRooms()
		if err != nil {
			return nil, err
		}
		p.rooms, p.roomsAt = some(rooms), now
		clear(p.sent)
	}
	return p.rooms, nil
}

// enter answers POST /play/rooms: "join or create by mode; at most 4 rooms an address" (entry). Of the rooms that fit it takes the
// fullest, so that players find each other. Those whom it sent to a room count as its players until rooms are listed anew.
func (p *play) enter(w http.ResponseWriter, r *http.Request, from netip.Addr) (int, any, error) {
	wish, err := readPlay[PlayWish](w, r)
	if err = cmp.Or(err, checkMode(wish.Mode)); err != nil {
		return 0, nil, err
	}
	p.listing.Lock()
	defer p.listing.Unlock()
	rooms, err := p.seldomRooms()
	if err != nil {
		return 0, nil, err
	}
	best := -1
	for i, room := range rooms {
		players := room.Players + p.sent[room.Name]
		fits := room.Mode == wish.Mode && players < room.MaxPlayers && (wish.MaxPlayers == 0 || wish.MaxPlayers == room.MaxPlayers)
		if fits && (best < 0 || players > rooms[best].Players+p.sent[rooms[best].Name]) {
			best = i
		}
	}
	if best >= 0 {
		p.sent[rooms[best].Name]++
		return http.StatusOK, rooms[best], nil
	}
	p.forgetRooms(rooms)
	host := admission.Host(from)
	if len(p.opened[host]) >= maxRoomsOf {
		return 0, nil, refuse(http.StatusTooManyRequests, "players of your address have opened %d rooms that are still there, and more may not be", maxRoomsOf)
	}
	room, err := p.Lobby.OpenRoom(PlayRoom{Name: "play-" + strings.ToLower(rand.Text()), Mode: wish.Mode, MaxPlayers: wish.MaxPlayers})
	if err != nil {
		return 0, nil, err
	}
	p.opened[host] = append(p.opened[host], room.Name)
	p.sent[room.Name]++
	p.rooms = append(rooms[:len(rooms):len(rooms)], room) // a list that is being sent stays as it is
	return http.StatusCreated, room, nil
}

// forgetRooms forgets who has opened the rooms that are gone. There are no more entries than rooms afterwards.
func (p *play) forgetRooms(rooms []PlayRoom) {
	there := make(map[string]bool, len(rooms))
	for _, r := range rooms {
		there[r.Name] = true
	}
	for host, names := range p.opened {
		if names = slices.DeleteFunc(names, func(name string) bool { return !there[name] }); len(names) == 0 {
			delete(p.opened, host)
		} else {
			p.opened[host] = names
		}
	}
}
