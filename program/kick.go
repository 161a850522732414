package program

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"parley/web"
)

func (a *app) newKick() *cobra.Command {
	f := remoteFlags{app: a}
	var reason string
	cmd := &cobra.Command{
		Use:   "kick ROOM ID",
		Short: "Remove a player from a running server",
		Long: `Kick removes a player from a room and tells the player why. "parley players"
lists the players with their IDs. A kicked player may come back; see "parley
ban".`,
		Example: `  parley kick main 3
  parley kick main 3 --reason "be kind"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("%q takes a room and the ID of a player, which \"%s players\" lists; it was given %d arguments", cmd.CommandPath(), a.name, len(args))
			}
			if id, err := strconv.ParseUint(args[1], 10, 16); err != nil || id == 0 {
				return fmt.Errorf("%q is not the ID of a player, which is a number; \"%s players\" lists them", args[1], a.name)
			}
			return checkRoomName(args[0])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "/v1/rooms/" + url.PathEscape(args[0]) + "/players/" + args[1]
			if err := f.call(cmd.Context(), http.MethodDelete, path, web.Kick{Reason: reason}, nil); err != nil {
				return err
			}
			return f.done(cmd, "kicked player %s from %s", args[1], args[0])
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "what the player is told")
	return cmd
}
