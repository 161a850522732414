package program

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"parley/web"
)

func (a *app) newPlayers() *cobra.Command {
	f := remoteFlags{app: a}
	var room string
	cmd := &cobra.Command{
		Use:   "players",
		Short: "List the players of a running server",
		Long: `Players lists the players of all rooms of a running server, or of one room. The
number in the last column is in the lines of the log that are about the player.`,
		Example: `  parley players
  parley players --room main --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := "/v1/players"
			if room != "" {
				if err := checkRoom(room); err != nil {
					return err
				}
				path = "/v1/rooms/" + url.PathEscape(room) + "/players"
			}
			var list web.Players
			if err := f.call(cmd.Context(), http.MethodGet, path, nil, &list); err != nil {
				return err
			}
			return f.print(cmd, list, func(w io.Writer) { playerTable(w, list.Players, time.Now()) })
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&room, "room", "", "list only the players of this room")
	return cmd
}

func playerTable(w io.Writer, list []web.Player, now time.Time) {
	fmt.Fprintln(w, "ROOM\tID\tNAME\tDIALECT\tADDRESS\tFOR\tRTT\tSTATE\tCONN")
	for _, p := range list {
		state, since, rtt, over := "here", "-", "-", shown(p.Dialect)+"/"+shown(p.Carrier)
		if p.Dialect == "" { // away since before the server was started
			over = "-"
		}
		if p.Away {
			state = "away"
		}
		if !p.Since.IsZero() {
			since = now.Sub(p.Since).Round(time.Second).String()
		}
		if p.RTT > 0 {
			rtt = fmt.Sprintf("%.1fms", p.RTT)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%d\n", shown(p.Room), p.ID, shown(p.Name), over, shown(p.Address), since, rtt, state, p.Conn)
	}
}
