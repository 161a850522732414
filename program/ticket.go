package program

import (
	"bytes"
	"cmp"
	cryptorand "crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"parley/account"
	"parley/internal/plain"
	"parley/play/message"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
	"parley/web"
)

// ticketKeyBytes is the size of a new key: as long as the hash that it is for.
const ticketKeyBytes = 32

func (a *app) newTicket() *cobra.Command {
	return group(&cobra.Command{
		Use:   "ticket",
		Short: "Make and check the tickets that let players in",
		Long: `A ticket lets one player into a game over replica, relay or duplex, once, until
it expires. It is signed with a secret key. The server checks tickets with the
key (parley serve --ticket-key-file). The program that your players log in to
makes tickets with it. Tickets are printed in hex.

The room of "parley serve" is called main. A ticket without a room is valid
there too.`,
		Example: `  parley ticket key > server.key
  parley serve --ticket-key-file server.key
  parley ticket make --key-file server.key --room main --name ada --valid 5m
  parley join relay --ticket $(parley ticket make --key-file server.key)
  parley ticket check --key-file server.key TICKET`,
	}, a.newTicketKey(), a.newTicketMake(), a.newTicketCheck())
}

func (a *app) newTicketKey() *cobra.Command {
	return &cobra.Command{
		Use:     "key",
		Short:   "Print a new random key",
		Example: `  parley ticket key > server.key`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var key [ticketKeyBytes]byte
			cryptorand.Read(key[:])
			fmt.Fprintln(cmd.OutOrStdout(), hex.EncodeToString(key[:]))
			return nil
		},
	}
}

func (a *app) newTicketMake() *cobra.Command {
	var keyFile, room, name string
	var valid time.Duration
	f := remoteFlags{app: a}
	cmd := &cobra.Command{
		Use:   "make",
		Short: "Print a new ticket",
		Long: `Make prints a ticket in hex. It signs the ticket with the key of --key-file.
With --server or --token-file it has a running server make the ticket, which
must have been started with a key.`,
		Example: `  parley ticket make --key-file server.key --room main --name ada --valid 5m
  parley ticket make --server http://127.0.0.1:8080 --name ada`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("server") || cmd.Flags().Changed("token-file") {
				if keyFile != "" {
					return errors.New("--key-file makes the ticket here, and --server has a server make it; leave out one")
				}
				return f.ticket(cmd, web.NewTicket{Room: room, Name: name, TTL: int64(valid.Seconds())})
			}
			key, err := a.readTicketKey(keyFile)
			if err != nil {
				return err
			}
			if valid < time.Second {
				return fmt.Errorf("--valid is %v, but tickets are valid for whole seconds; give at least 1s", valid)
			}
			if account.Reserved(name) {
				return fmt.Errorf("%q looks like the name of the server itself, or of a guest; choose another", name)
			}
			ticket, err := relay.NewTicket(key, room, name, valid)
			if err != nil {
				return err
			}
			if f.asJSON {
				return printJSON(cmd.OutOrStdout(), web.Ticket{Ticket: hex.EncodeToString(ticket), Room: cmp.Or(room, message.MainRoom), Expires: time.Now().Add(valid).UTC().Truncate(time.Second)})
			}
			fmt.Fprintln(cmd.OutOrStdout(), hex.EncodeToString(ticket))
			return nil
		},
	}
	addTicketFlags(cmd, &keyFile, &room)
	f.register(cmd)
	cmd.Flags().StringVar(&name, "name", "", "the name of the player in the game")
	cmd.Flags().DurationVar(&valid, "valid", time.Minute, "how long the ticket is valid")
	return cmd
}

// ticket has a server make a ticket.
func (f *remoteFlags) ticket(cmd *cobra.Command, t web.NewTicket) error {
	if t.TTL < 1 {
		return errors.New("tickets are valid for whole seconds; give --valid at least 1s")
	}
	var made web.Ticket
	if err := f.call(cmd.Context(), http.MethodPost, "/v1/tickets", t, &made); err != nil {
		return err
	}
	if f.asJSON {
		return printJSON(cmd.OutOrStdout(), made)
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), plain.Text(made.Ticket))
	return err
}

// ticketShown is a ticket as JSON. Error is why it does not let in, if it does not.
type ticketShown struct {
	Room    string `json:"room"`
	Name    string `json:"name"`
	Expires string `json:"expires"`
	Serial  string `json:"serial"`
	Error   string `json:"error,omitempty"`
}

func (a *app) newTicketCheck() *cobra.Command {
	var keyFile, room string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check TICKET",
		Short: "Show a ticket, and whether it is valid now",
		Long: `Check shows what a ticket says. The exit status is 0 if the ticket is valid for
the room now, and 1 if it is not. Only the server knows whether a ticket was
used before.`,
		Example: `  parley ticket check --key-file server.key TICKET
  parley ticket check --json --key-file server.key TICKET`,
		Args: takesOne("ticket"),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := a.readTicketKey(keyFile)
			if err != nil {
				return err
			}
			ticket, err := hex.DecodeString(args[0])
			if err != nil {
				return failure{fmt.Errorf("the ticket is not hex; give it as \"%s ticket make\" prints it", a.name)}
			}
			t, err := key.Check(time.Now(), room, ticket)
			if errors.Is(err, relaycore.ErrTicketRoom) && isMain(room) && isMain(t.Room) {
				err = nil
			}
			return showTicket(cmd, t, err, asJSON)
		},
	}
	addTicketFlags(cmd, &keyFile, &room)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// isMain reports whether a room is the one that a server has.
func isMain(room string) bool { return room == "" || room == "main" }

// showTicket prints what a ticket says, if it was issued with the key, and returns why it
// does not let in.
func showTicket(cmd *cobra.Command, t relaycore.Ticket, why error, asJSON bool) error {
	if errors.Is(why, relaycore.ErrTicketForm) || errors.Is(why, relaycore.ErrTicketForged) {
		return failure{why}
	}
	shown := ticketShown{Room: t.Room, Name: t.Name, Expires: t.Expires.UTC().Format(time.RFC3339), Serial: hex.EncodeToString(t.Serial[:])}
	if why != nil {
		shown.Error = why.Error()
	}
	if asJSON {
		if err := printJSON(cmd.OutOrStdout(), shown); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(cmd.OutOrStdout(), "room %q, name %q, expires %s, serial %s\n", shown.Room, shown.Name, shown.Expires, shown.Serial)
	}
	if why != nil {
		return failure{why}
	}
	return nil
}

func addTicketFlags(cmd *cobra.Command, keyFile, room *string) {
	cmd.Flags().StringVar(keyFile, "key-file", "", "the file with the key in hex (required)")
	cmd.Flags().StringVar(room, "room", "", "the room that the ticket is for (default main, the room of parley serve)")
}

// readTicketKey reads a key in hex. It is not an argument, as arguments can be seen by
// everybody on the machine.
func (a *app) readTicketKey(file string) (relay.TicketKey, error) {
	if file == "" {
		return nil, fmt.Errorf("--key-file is missing; \"%s ticket key\" makes a key", a.name)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, failure{fmt.Errorf("cannot read the key: %w", err)}
	}
	key, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil {
		// The error of the decoder would show a part of what should be secret.
		return nil, failure{fmt.Errorf("the key in %s is not hex; \"%s ticket key\" makes a key", file, a.name)}
	}
	if len(key) < relaycore.MinTicketKey {
		return nil, failure{fmt.Errorf("the key in %s has %d bytes, and at least %d are needed; \"%s ticket key\" makes a key", file, len(key), relaycore.MinTicketKey, a.name)}
	}
	return key, nil
}
