package program

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"parley/internal/plain"
	"parley/play/line"
	"parley/web"
)

// matchFlags are what the command line says of a match.
type matchFlags struct {
	app  *app
	wish web.Wish
	play string
}

func (m *matchFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&m.wish.Mode, "match", "", "find others who want to play this mode, and play with them; the dialect may then be left out")
	addWishFlags(cmd, &m.wish)
	cmd.Flags().StringVar(&m.play, "play", defaultPlay, "with --match: the server, as it was told with --play")
}

// wanted reports whether the player wants a match.
func (m *matchFlags) wanted(cmd *cobra.Command) bool { return cmd.Flags().Changed("match") }

// check refuses flags that do not go together.
func (m *matchFlags) check(cmd *cobra.Command, f *joinFlags, dialect string) error {
	switch {
	case !m.wanted(cmd):
		for _, name := range []string{"players", "play"} {
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s is for matches; name the mode to play with --match", name)
			}
		}
		return nil
	case !line.HasSessions(dialect):
		return fmt.Errorf("%s takes no ticket, which a match needs; join replica, relay or duplex", dialect)
	case f.ticket != "" || f.room != "":
		return errors.New("a match has a room and a ticket of its own; leave out --room and --ticket")
	}
	return nil
}

// find waits for a match, and returns where it is.
func (m *matchFlags) find(ctx context.Context, cmd *cobra.Command, name, dialect string) (addr string, ticket []byte, err error) {
	r, err := m.app.newRemote("--play", m.play)
	if err != nil {
		return "", nil, err
	}
	m.wish.Name = name
	fmt.Fprintf(cmd.OutOrStdout(), "looking for a match of %d players of %s …\n", m.wish.Players, m.mode())
	found, err := r.match(ctx, "/play/match", m.wish)
	if err != nil {
		return "", nil, err
	}
	for _, a := range found.Addresses {
		if a.Dialect == dialect {
			addr = a.Address
		}
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return "", nil, failure{fmt.Errorf("the server at %s does not say where its %s is; join over another dialect", m.play, dialect)}
	}
	if ticket, err = hex.DecodeString(found.Ticket); err != nil || len(ticket) == 0 {
		return "", nil, failure{fmt.Errorf("the server at %s gives a ticket that is no ticket: it is of another version", m.play)}
	}
	fmt.Fprintf(cmd.OutOrStdout(), "found a match: room %s\n", plain.Text(found.Room))
	return addr, ticket, nil
}

// mode is the mode in words.
func (m *matchFlags) mode() string {
	if m.wish.Mode == "" {
		return "any kind"
	}
	return m.wish.Mode
}
