package program

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"parley/web"
)

func (a *app) newCluster() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Look after a cluster of servers that share their rooms",
		Long: `Cluster talks to any one server of a cluster, which asks the others. A server
becomes a node of a cluster with "parley serve --cluster".`,
		Example: `  parley cluster status
  parley cluster drain fra-1
  parley cluster move duel-7 fra-2`,
	}
	return group(cmd, a.newClusterStatus(), a.newClusterDrain(), a.newClusterMove())
}

func (a *app) newClusterStatus() *cobra.Command {
	f := remoteFlags{app: a}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the nodes and rooms of a cluster",
		Long: `Status shows each node that lives, and each room with the nodes that run it. The
node that makes a room's entries, its sequencer, has a star.

  LAG     how many entries a node is behind the newest, and for how long
  STATE   the hash of the room after the last tick that the node has run.
          "differs" means that the sequencer has another at the same tick

The exit status is 1 if a node is silent or a state differs.`,
		Example: `  parley cluster status
  parley cluster status --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var c web.Cluster
			if err := f.call(cmd.Context(), http.MethodGet, "/v1/cluster", nil, &c); err != nil {
				return err
			}
			if err := f.print(cmd, c, func(w io.Writer) { clusterTable(w, c) }); err != nil {
				return err
			}
			return unwell(c)
		},
	}
	f.register(cmd)
	return cmd
}

// unwell is what an operator should look after, nil if there is nothing.
func unwell(c web.Cluster) error {
	for _, n := range c.Nodes {
		if n.Silent {
			return failure{fmt.Errorf("the node %s has not answered in time", nodeShown(n))}
		}
	}
	for _, r := range c.Rooms {
		for _, s := range r.Stages {
			if s.Differs {
				return failure{fmt.Errorf("the room %s is not the same on all nodes; see the log of the node with the state that differs, and the folder desync of its --data", shown(r.Room))}
			}
		}
	}
	return nil
}

func (a *app) newClusterDrain() *cobra.Command {
	f := remoteFlags{app: a}
	cmd := &cobra.Command{
		Use:   "drain [NODE]",
		Short: "Have a node's rooms and players go on at other nodes, and end it",
		Long: `Drain ends a node in good order: it takes no new players, other nodes make the
entries of its rooms, its players go on there, and then its process ends.
Without a name it is the server that is asked. The command does not wait for
that: see "parley cluster status". A signal (SIGTERM) does the same.`,
		Example: `  parley cluster drain
  parley cluster drain fra-1`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("%q takes the name of one node, or none; it was given %d", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			node := strings.Join(args, "")
			if err := f.call(cmd.Context(), http.MethodPost, "/v1/cluster/drain", web.DrainNode{Node: node}, nil); err != nil {
				return err
			}
			if node == "" {
				node = "of " + f.server
			}
			return f.done(cmd, "the node %s is draining, and ends when its players are elsewhere", node)
		},
	}
	f.register(cmd)
	return cmd
}

func (a *app) newClusterMove() *cobra.Command {
	f := remoteFlags{app: a}
	cmd := &cobra.Command{
		Use:   "move ROOM NODE",
		Short: "Have another node make the entries of a room",
		Long: `Move has another node make the entries of a room: its sequencer. The node must
run the room, which it does while it has players of it. Players stay where they
are connected.`,
		Example: `  parley cluster move duel-7 fra-2`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("%q takes a room and a node; it was given %d", cmd.CommandPath(), len(args))
			}
			return checkRoomName(args[0])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.call(cmd.Context(), http.MethodPost, "/v1/cluster/move", web.MoveRoom{Room: args[0], Node: args[1]}, nil); err != nil {
				return err
			}
			return f.done(cmd, "the node %s makes the entries of the room %s", args[1], args[0])
		},
	}
	f.register(cmd)
	return cmd
}

// clusterTable is a cluster for people.
func clusterTable(w io.Writer, c web.Cluster) {
	names := map[string]string{}
	fmt.Fprintln(w, "NODE\tID\tSTATE\tPLAYERS\tROOMS\tCPU\tVERSION\tSCHEMA")
	for _, n := range c.Nodes {
		names[n.Node] = nodeShown(n)
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%.0f%%\t%s\t%s\n", nodeShown(n), shown(n.Node), nodeState(n), n.Players, n.Rooms, 100*n.CPU, shown(n.Version), shown(n.Fingerprint))
	}
	for _, n := range c.Nodes {
		if n.Waits != "" {
			fmt.Fprintf(w, "\n%s waits: %s\n", nodeShown(n), shown(n.Waits))
		}
	}
	fmt.Fprintln(w, "\nROOM\tEPOCH\tNODE\tTICK\tLAG\tREFUSED\tDESYNCS\tSTATE")
	for _, r := range c.Rooms {
		for _, s := range r.Stages {
			name := names[s.Node]
			if name == "" {
				name = shown(s.Node)
			}
			if s.Node == r.Sequencer {
				name += " *"
			}
			if s.Stuck {
				fmt.Fprintf(w, "%s\t%d\t%s\t-\t-\t-\t-\tdoes not answer\n", shown(r.Room), r.Epoch, name)
				continue
			}
			state := shown(s.Hash)
			if !r.Awake {
				state += " asleep"
			}
			if s.Differs {
				state += " differs"
			}
			fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%d, %.0fms\t%d\t%d\t%s\n", shown(r.Room), r.Epoch, name, s.Tick, s.Lag, s.LagMS, s.Refused, s.Diverged, state)
		}
		if r.Sequencer == "" && r.Awake {
			fmt.Fprintf(w, "%s\t%d\tnone\t%d\t-\t-\t-\tstands still\n", shown(r.Room), r.Epoch, r.Tick)
		}
	}
}

// nodeShown is a node's name, or its ID if it has none.
func nodeShown(n web.ClusterNode) string {
	if n.Name == "" {
		return shown(n.Node)
	}
	return shown(n.Name)
}

func nodeState(n web.ClusterNode) string {
	switch {
	case n.Silent:
		return "silent"
	case n.Draining:
		return "draining"
	case n.Waits != "":
		return "waits"
	case n.Here:
		return "here"
	}
	return "lives"
}
