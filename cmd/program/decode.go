package program

import (
	"bytes"
	"encoding/json"

	"github.com/spf13/cobra"

	"parley/internal/plain"
)

func newDecode(codecs []Codec) *cobra.Command {
	var flags routeFlags
	cmd := &cobra.Command{
		Use:   "decode --dialect NAME --from client|server [--channel NAME] [HEX...]",
		Short: "Show what packets say: hex in, one line of JSON out for each",
		Long: `Decode shows what packets say: hex in, one line of JSON out for each.

Each argument is one packet. A bad one is an error on standard error that names
the field and its offset; the others are still shown, and the exit status is 1.

Without arguments it reads standard input, a packet a line, and prints a line
for each: a bad one gives {"error": "..."} and reading goes on, with exit
status 0. An empty line is a packet of no bytes.

Hex is two digits a byte in either case. A leading 0x, and spaces or tabs
between bytes, are allowed.

` + dialectsSentence(codecs),
		Example: `  parley decode --dialect NAME --from server 0301ff "03 01 ff"
  parley decode --dialect NAME --from client < packets.hex`,
		DisableFlagsInUseLine: true,
		ValidArgsFunction:     cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := flags.resolve(codecs)
			if err != nil {
				return err
			}
			return convertAll(cmd, args, r.decode)
		},
	}
	flags.register(cmd, codecs)
	return cmd
}

// decode turns the hex of one packet into one line of JSON.
func (r route) decode(text []byte) ([]byte, error) {
	b, err := parseHex(text)
	if err != nil {
		return nil, err
	}
	packet, err := r.codec.Decode(r.from, r.channel, b)
	if err != nil {
		return nil, err
	}
	return marshalLine(packet)
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
