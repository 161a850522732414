package program

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

// A route says whose packets a command converts: the codec, who sent them and
// on which channel.
type route struct {
	codec   codec
	from    side
	channel string
}

// routeFlags are the flags of decode and encode that choose a route.
type routeFlags struct {
	dialect, from, channel string
}

func (f *routeFlags) register(cmd *cobra.Command, codecs []codec) {
	cmd.Flags().StringVar(&f.dialect, "dialect", "", "the dialect (required)")
	cmd.Flags().StringVar(&f.from, "from", "", "who sent the packets: client or server (required)")
	cmd.Flags().StringVar(&f.channel, "channel", "", "the channel, for a dialect with more than one: main (the default) or feed of duplex")

	complete := func(flag string, values func() []string) {
		// The only error is a flag that does not exist, and they are above.
		_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return values(), cobra.ShellCompDirectiveNoFileComp
		})
	}
	complete("dialect", func() (names []string) {
		for _, c := range codecs {
			names = append(names, c.Name)
		}
		return names
	})
	complete("from", func() []string { return sideNames[sideClient:] })
	complete("channel", func() []string {
		if i := slices.IndexFunc(codecs, func(c codec) bool { return c.Name == f.dialect }); i >= 0 {
			return codecs[i].Channels
		}
		return nil
	})
}

// resolve checks the flags against the codecs. An error is a usage mistake,
// one sentence that says what to do.
func (f *routeFlags) resolve(codecs []codec) (route, error) {
	if f.dialect == "" {
		return route{}, fmt.Errorf("--dialect is missing; the built-in dialects are: %s", codecNames(codecs))
	}
	i := slices.IndexFunc(codecs, func(c codec) bool { return c.Name == f.dialect })
	if i < 0 {
		return route{}, fmt.Errorf("no dialect named %q is built in; the built-in dialects are: %s", f.dialect, codecNames(codecs))
	}
	r := route{codec: codecs[i]}
	switch f.from {
	case "client":
		r.from = sideClient
	case "server":
		r.from = sideServer
	case "":
		return route{}, fmt.Errorf("--from is missing; say who sent the packets, client or server")
	default:
		return route{}, fmt.Errorf("--from must be client or server, not %q", f.from)
	}
	return f.resolveChannel(r)
}

func (f *routeFlags) resolveChannel(r route) (route, error) {
	channels := r.codec.Channels
	switch {
	case len(channels) == 0 && f.channel != "":
		return route{}, fmt.Errorf("the dialect %s has one channel only; leave out --channel", r.codec.Name)
	case len(channels) == 0:
		return r, nil
	case f.channel == "":
		r.channel = channels[0]
	case slices.Contains(channels, f.channel):
		r.channel = f.channel
	default:
		return route{}, fmt.Errorf("--channel must be %s for the dialect %s, not %q", sentenceList(channels, "or"), r.codec.Name, f.channel)
	}
	return r, nil
}
