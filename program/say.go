package program

import (
	"errors"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"parley/web"
)

func (a *app) newSay() *cobra.Command {
	f := remoteFlags{app: a}
	var room string
	cmd := &cobra.Command{
		Use:   "say TEXT",
		Short: "Say a line of chat to the players of a running server",
		Example: `  parley say "restart in five minutes"
  parley say --room main "be kind"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" {
				return errors.New("there is nothing to say; write the text behind the command")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkRoom(room); err != nil {
				return err
			}
			if err := f.call(cmd.Context(), http.MethodPost, "/v1/say", web.Say{Room: room, Text: strings.Join(args, " ")}, nil); err != nil {
				return err
			}
			if room == "" {
				return f.done(cmd, "said to all rooms")
			}
			return f.done(cmd, "said to %s", room)
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&room, "room", "", "the room to speak in (default all rooms)")
	return cmd
}
