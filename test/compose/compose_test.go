// Package compose reads deploy/compose.yaml as Docker Compose does. It is a module of its own, as the reader has many dependencies.
package compose

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"gopkg.in/yaml.v3"
)

func load(t *testing.T, env ...string) (*types.Project, error) {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{"../../deploy/compose.yaml"}, cli.WithEnv(env), cli.WithInterpolation(true), cli.WithConsistency(true))
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(t.Context())
}

var given = []string{"PUBLIC_HOST=game.example", "POSTGRES_PASSWORD=secret"}

// Compose takes the file: three nodes with the same settings and ports of their own, a database and Prometheus, which asks all three.
func TestComposeFile(t *testing.T) {
	p, err := load(t, given...)
	if err != nil {
		t.Fatal(err)
	}
	if names := p.ServiceNames(); !slices.Equal(names, []string{"a", "b", "c", "postgres", "prometheus"}) {
		t.Fatalf("the services are %v", names)
	}
	published := map[string]string{}
	for name, s := range p.Services {
		for _, port := range s.Ports {
			at := port.Published + "/" + port.Protocol
			if published[at] != "" {
				t.Errorf("%s and %s are both at %s", published[at], name, at)
			}
			published[at] = name
			if len(name) == 1 && port.Target != 8080 && port.Published != strings.TrimPrefix(*s.Environment["PARLEY_REPLICA"], ":")[:2]+port.Published[2:] {
				t.Errorf("%s publishes %s", name, at)
			}
			if len(name) == 1 && port.Target != 8080 && port.HostIP != "" || (port.Target == 8080 || port.Target == 9090) && port.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes %s at %q", name, at, port.HostIP)
			}
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		s := p.Services[name]
		for flag, value := range s.Environment { // players are told the ports at which the node listens
			port, listens := strings.CutPrefix(*value, ":")
			if listens && !slices.ContainsFunc(s.Ports, func(p types.ServicePortConfig) bool { return p.Published == port && p.Target == number(port) }) {
				t.Errorf("%s: %s is %s, which is not published as it is", name, flag, *value)
			}
		}
		if *s.Environment["PARLEY_CLUSTER_ADVERTISE"] != name+":6222" || *s.Environment["PARLEY_NODE"] != name || s.StopGracePeriod == nil {
			t.Errorf("%s: %v", name, s.Environment)
		}
	}
	var c struct {
		Scrape []struct {
			Static []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	text, err := os.ReadFile(p.Configs["prometheus"].File)
	if err != nil || yaml.Unmarshal(text, &c) != nil || len(c.Scrape) != 1 || !slices.Equal(c.Scrape[0].Static[0].Targets, []string{"a:8080", "b:8080", "c:8080"}) {
		t.Errorf("Prometheus asks %+v, %v", c, err)
	}
	for _, without := range []string{"PUBLIC_HOST", "POSTGRES_PASSWORD"} {
		some := slices.DeleteFunc(slices.Clone(given), func(v string) bool { return strings.HasPrefix(v, without) })
		if _, err := load(t, some...); err == nil || !strings.Contains(err.Error(), without) {
			t.Errorf("without %s: %v", without, err)
		}
	}
}

func number(text string) (n uint32) {
	for _, c := range text {
		n = 10*n + uint32(c-'0')
	}
	return n
}

// The program takes the settings of each node: it comes as far as the database, which is not there.
func TestSettingsOfNodes(t *testing.T) {
	program := filepath.Join(t.TempDir(), "parley")
	build := exec.Command("go", "build", "-o", program, "./cmd/parley")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p, err := load(t, given...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		cmd := exec.CommandContext(t.Context(), program, "serve")
		for key, value := range p.Services[name].Environment {
			switch key {
			case "PARLEY_DATA":
				cmd.Env = append(cmd.Env, key+"="+t.TempDir())
			case "PARLEY_POSTGRES":
				cmd.Env = append(cmd.Env, key+"="+strings.Replace(*value, "@postgres/", "@127.0.0.1:1/", 1))
			default:
				cmd.Env = append(cmd.Env, key+"="+*value)
			}
		}
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); !asExit(err, &exit) || exit.ExitCode() != 2 || !strings.HasPrefix(string(out), "parley: --postgres: ") || strings.Contains(string(out), "secret") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

func asExit(err error, to **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	if ok {
		*to = e
	}
	return ok
}
