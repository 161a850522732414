package program

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) newEncode() *cobra.Command {
	return newConvert(&cobra.Command{
		Use:   "encode --dialect NAME --from client|server [--channel NAME] [JSON...]",
		Short: "Encode packets: JSON in, as decode prints it, and hex out",
		Long: `Encode reads packets in JSON, as decode prints them, and prints each as one line
of hex.

Each argument is one packet. An error on standard error names the field of a bad
packet. The other packets are still printed, and the exit status is 1.

Without arguments, encode reads standard input, one packet a line, and prints
one line for each. For a bad packet that line is {"error": "..."}, and the exit
status is still 0.

` + dialectsSentence(a.codecs),
		Example: `  parley encode --dialect replica --from client '{"packet":"ack","acked":1}'
  parley encode --dialect duplex --channel feed --from client < packets.json`,
	}, a.codecs, route.encode)
}

// encode turns one line of JSON into the hex of one packet.
func (r route) encode(line []byte) ([]byte, error) {
	if err := checkObject(line); err != nil {
		return nil, err
	}
	b, err := r.codec.Encode(r.from, r.channel, line)
	if err != nil {
		return nil, err
	}
	return hex.AppendEncode(nil, b), nil
}

// checkObject makes sure that line is one whole JSON object, so that each
// codec need not tell a broken line from a wrong field.
func checkObject(line []byte) error {
	var whole json.RawMessage
	if err := json.Unmarshal(line, &whole); err != nil {
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			return fmt.Errorf("json: %w at offset %d", err, syntax.Offset)
		}
		return fmt.Errorf("json: %w", err)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
		return errors.New("json: a packet is an object in braces, and this is another value at offset 0")
	}
	return nil
}
