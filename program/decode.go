package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/cobra"

	"parley/internal/plain"
)

func (a *app) newDecode() *cobra.Command {
	var withNames bool
	game := sync.OnceValues(a.game.Schema) // a packet a line, and one game
	cmd := newConvert(&cobra.Command{
		Use:   "decode --dialect NAME --from client|server [--channel NAME] [HEX...]",
		Short: "Decode packets: hex in, one line of JSON out for each",
		Long: `Decode reads packets in hex and prints each as one line of JSON.

Each argument is one packet. An error on standard error names the field of a bad
packet and its offset. The other packets are still printed, and the exit status
is 1.

Without arguments, decode reads standard input, one packet a line, and prints
one line for each. For a bad packet that line is {"error": "..."}, and the exit
status is still 0. An empty line is a packet of no bytes.

With --names a packet that says something of the game also has a member "game":
a list of entities and actions with the names of kinds, fields and parameters,
as "parley schema" shows them.

Hex has two digits a byte, in upper or lower case. A leading 0x, and spaces or
tabs between bytes, are allowed.

` + dialectsSentence(a.codecs),
		Example: `  parley decode --dialect replica --from server 0301ff "03 01 ff"
  parley decode --dialect duplex --channel feed --from client < packets.hex`,
	}, a.codecs, func(r route, text []byte) ([]byte, error) {
		if !withNames {
			return r.decode(text, nil)
		}
		s, err := game()
		if err != nil {
			return nil, err
		}
		return r.decode(text, newNames(s))
	})
	cmd.Flags().BoolVar(&withNames, "names", false, "add the entities and actions of the game, with the names of their fields")
	return cmd
}

// decode turns the hex of one packet into one line of JSON, with what it says of the game unless n is nil.
func (r route) decode(text []byte, n *names) ([]byte, error) {
	b, err := parseHex(text)
	if err != nil {
		return nil, err
	}
	packet, err := r.codec.Decode(r.from, r.channel, b)
	if err != nil {
		return nil, err
	}
	if shown, ok := packet.(object); ok && n != nil {
		if game := n.of(r, b); len(game) > 0 {
			packet = append(shown, member{"game", game})
		}
	}
	return marshalLine(packet)
}

// printJSON prints a value as one line.
func printJSON(w io.Writer, v any) error {
	line, err := marshalLine(v)
	if err != nil {
		return failure{err}
	}
	_, err = fmt.Fprintf(w, "%s\n", line)
	return err
}

// marshalLine is json.Marshal without its guard for web pages, which would
// print < as an escape: nothing here is put into a page. It is shown in terminals, and what moves their
// cursor is escaped.
func marshalLine(v any) ([]byte, error) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return plain.JSON(bytes.TrimSuffix(line.Bytes(), []byte("\n"))), nil
}
