package program

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"parley/play/message"
	"parley/web"
)

func (a *app) newRooms() *cobra.Command {
	f := remoteFlags{app: a}
	cmd := &cobra.Command{
		Use:   "rooms [NAME]",
		Short: "List, open and close the rooms of a running server",
		Long: `Rooms lists the rooms of a running server. With a name it shows one room: also
one that has ended, with its result, if it is among the newest 256.`,
		Example: `  parley rooms
  parley rooms duel-7
  parley rooms open duel-7 --mode duel --max-players 2 --closed
  parley rooms close duel-7`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("%q takes the name of one room, or none; it was given %d", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return f.showRoom(cmd, args[0])
			}
			var list web.Rooms
			if err := f.call(cmd.Context(), http.MethodGet, "/v1/rooms", nil, &list); err != nil {
				return err
			}
			return f.print(cmd, list, func(w io.Writer) { roomTable(w, list.Rooms) })
		},
	}
	f.register(cmd)
	cmd.AddCommand(a.newRoomsOpen(), a.newRoomsClose())
	return cmd
}

func (f *remoteFlags) showRoom(cmd *cobra.Command, name string) error {
	if err := checkRoomName(name); err != nil {
		return err
	}
	var room web.Room
	if err := f.call(cmd.Context(), http.MethodGet, "/v1/rooms/"+url.PathEscape(name), nil, &room); err != nil {
		return err
	}
	return f.print(cmd, room, func(w io.Writer) { roomTable(w, []web.Room{room}) })
}

func (a *app) newRoomsOpen() *cobra.Command {
	f := remoteFlags{app: a}
	var room web.NewRoom
	var seed uint64
	var closed bool
	var accounts string
	var idle time.Duration
	cmd := &cobra.Command{
		Use:   "open NAME",
		Short: "Open a room",
		Example: `  parley rooms open duel-7 --mode duel --max-players 2
  parley rooms open club --closed --accounts ada,ben --idle -1s`,
		Args: takesOne("name of a room"),
		RunE: func(cmd *cobra.Command, args []string) error {
			room.Name, room.Seed, room.Accounts = args[0], web.Seed(seed), splitList(accounts)
			if err := checkRoomName(room.Name); err != nil {
				return err
			}
			if closed {
				room.Open = new(bool)
			}
			if room.Idle = int64(math.Ceil(idle.Seconds())); idle < 0 {
				room.Idle = -1
			}
			var opened web.Room
			if err := f.call(cmd.Context(), http.MethodPost, "/v1/rooms", room, &opened); err != nil {
				return err
			}
			return f.print(cmd, opened, func(w io.Writer) { roomTable(w, []web.Room{opened}) })
		},
	}
	f.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&room.Mode, "mode", "", "the room's mode, a text that the game reads")
	flags.Uint64Var(&seed, "seed", 0, "the seed of the room: its terrain and its random numbers (default 0)")
	flags.IntVar(&room.MaxPlayers, "max-players", 0, "most players of the room (default that of the server)")
	flags.BoolVar(&closed, "closed", false, "let in only players with a ticket, and --accounts")
	flags.StringVar(&accounts, "accounts", "", "accounts of realm that may enter a closed room, as ada,ben")
	flags.DurationVar(&idle, "idle", 0, "how long the room stays when empty; below 0 for ever (default 1m)")
	return cmd
}

func (a *app) newRoomsClose() *cobra.Command {
	f := remoteFlags{app: a}
	cmd := &cobra.Command{
		Use:     "close NAME",
		Short:   "Close a room; its players are told",
		Example: `  parley rooms close duel-7`,
		Args:    takesOne("name of a room"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkRoomName(args[0]); err != nil {
				return err
			}
			if err := f.call(cmd.Context(), http.MethodDelete, "/v1/rooms/"+url.PathEscape(args[0]), nil, nil); err != nil {
				return err
			}
			return f.done(cmd, "closed the room %s", args[0])
		},
	}
	f.register(cmd)
	return cmd
}

// checkRoomName refuses what cannot be a room, before a server is asked.
func checkRoomName(name string) error {
	if !message.IsRoomName(name) {
		return fmt.Errorf("%q is no name of a room: it has 1 to %d of a-z, 0-9 and -", name, message.MaxRoomName)
	}
	return nil
}

func roomTable(w io.Writer, list []web.Room) {
	fmt.Fprintln(w, "ROOM\tSTATE\tMODE\tPLAYERS\tAWAY\tTICK\tP99\tENTRY\tRESULT")
	for _, r := range list {
		if r.State == web.Over {
			fmt.Fprintf(w, "%s\t%s\t-\t-\t-\t%d\t-\t-\t%s\n", shown(r.Name), r.State, r.Tick, shown(r.Result))
			continue
		}
		entry := "open"
		if !r.Open {
			entry = "closed"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d/%d\t%d\t%d\t%.1fms\t%s\t%s\n", shown(r.Name), r.State, shown(r.Mode), r.Players, r.MaxPlayers, r.Away, r.Tick, r.TickP99, entry, shown(r.Result))
	}
}
