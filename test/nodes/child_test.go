package nodes

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"parley"
	"parley/arena"
	"parley/cluster"
	"parley/internal/patient"
)

// childVariable names the NATS of a server that runs in a process of its own: this test binary, started again.
const childVariable = "PARLEY_NODES_NATS"

func TestMain(m *testing.M) {
	if url := os.Getenv(childVariable); url != "" {
		os.Exit(serveChild(url))
	}
	goleak.VerifyTestMain(m)
}

// serveChild serves until its standard input ends. It says where in a line of JSON.
func serveChild(url string) int {
	node, err := cluster.Start(cluster.Config{Name: "test", URLs: []string{url}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "nodes")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	const any = "127.0.0.1:0"
	s, err := parley.Start(arena.Game(), parley.Config{Replica: any, Stamp: any, Relay: any, Duplex: any, Sight: -1, DataDir: dir, Cluster: parley.ClusterOf(node)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	addrs := map[string]string{}
	for _, a := range s.Addrs() {
		addrs[a.Name] = a.Addr.String()
	}
	text, _ := json.Marshal(addrs)
	fmt.Println(string(text))
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Close()
	node.Close()
	return 0
}

// child is a server in a process of its own.
type child struct {
	*exec.Cmd
	addrs map[string]string
	in    io.WriteCloser
}

func startChild(t *testing.T, url string) *child {
	t.Helper()
	c := &child{Cmd: exec.Command(os.Args[0])}
	c.Env = append(os.Environ(), childVariable+"="+url)
	c.Stderr = t.Output()
	var err error
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		_ = patient.Exit(c.Cmd) // it was killed
	})
	var line string
	patient.Done(func() { line, err = bufio.NewReader(out).ReadString('\n') })
	if err == nil {
		err = json.NewDecoder(strings.NewReader(line)).Decode(&c.addrs)
	}
	if err != nil {
		t.Fatalf("a server does not start: %v", err)
	}
	return c
}

func (c *child) url(dialect string) string { return dialect + "://" + c.addrs[dialect] }
