package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"parley/web"
)

func (a *app) newMatch() *cobra.Command {
	f := remoteFlags{app: a}
	var wish web.Wish
	cmd := &cobra.Command{
		Use:   "match",
		Short: "Wait for a match on a running server, and print its ticket",
		Long: `Match waits, up to 30 seconds, until enough others want to play the same, and
prints the room of the match and a ticket for it. It is for programs that place
players. Players themselves say "parley join --match MODE".`,
		Example: `  parley match --mode duel --name ada
  parley match --mode race --players 4 --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := f.operator()
			if err != nil {
				return err
			}
			found, err := r.match(cmd.Context(), "/v1/match", wish)
			if err != nil {
				return err
			}
			return f.print(cmd, found, func(w io.Writer) {
				fmt.Fprintf(w, "room\t%s\nticket\t%s\n", shown(found.Room), shown(found.Ticket))
				for _, a := range found.Addresses {
					fmt.Fprintf(w, "%s\t%s\n", shown(a.Dialect), shown(a.Address))
				}
			})
		},
	}
	f.register(cmd)
	addWishFlags(cmd, &wish)
	cmd.Flags().StringVar(&wish.Mode, "mode", "", "the mode to play")
	cmd.Flags().StringVar(&wish.Name, "name", "", "the name of the player in the game")
	return cmd
}

func addWishFlags(cmd *cobra.Command, wish *web.Wish) {
	cmd.Flags().IntVar(&wish.Players, "players", 2, "how many players a match has")
}

// match waits for a match. If nobody is found, the error is errNothing.
func (r *remote) match(ctx context.Context, path string, wish web.Wish) (found web.Match, err error) {
	r.client.Timeout = matchPatience
	if err := r.call(ctx, http.MethodPost, path, wish, &found); err != nil {
		return found, err
	}
	if found.Room == "" {
		return found, failure{errNothing{errors.New("nobody else wants to play that now; try again, or ask a friend to")}}
	}
	return found, nil
}
