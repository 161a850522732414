package cluster

import (
	"net"
	"net/url"
	"sync/atomic"
	"syscall"
	"testing"

	"parley/cluster/clustertest"
	"parley/internal/patient"
)

// A server of NATS in this process that has given up its disk is started again, with all that it had.
func TestAStoreThatGaveUpGoesOn(t *testing.T) {
	t.Parallel()
	n := newNode(t, Config{Listen: freePorts(t, 1)[0], Dir: t.TempDir()})
	ctx := t.Context()
	if _, err := n.CreateRoom(ctx, "main", []byte("settings")); err != nil {
		t.Fatal(err)
	}
	var w board
	n.WatchRooms(w.tell)
	until(t, "the room", func() bool { return w.is(map[string]string{"main": "settings"}) })
	if err := n.natsServer().ShutdownJetStream(); err != nil { // as it does when its disk is full
		t.Fatal(err)
	}
	until(t, "the store after its new start", func() bool { return n.Stats().StoreTrouble > 0 && trouble(n.natsServer()) == "" })
	if settings, ok, err := n.RoomSettings(ctx, "main"); string(settings) != "settings" || !ok || err != nil {
		t.Errorf("%q, %v, %v", settings, ok, err)
	}
	if _, err := n.CreateRoom(ctx, "b", nil); err != nil {
		t.Error(err)
	}
	until(t, "the new room", func() bool { return w.is(map[string]string{"main": "settings", "b": ""}) })
}

// One that says that it cannot write leads nothing any more, and is started again when the disk takes something: here at once.
func TestAStoreThatCannotWriteIsStartedAgain(t *testing.T) {
	t.Parallel()
	n := newNode(t, Config{Listen: freePorts(t, 1)[0], Dir: t.TempDir()})
	if _, err := n.CreateRoom(t.Context(), "main", []byte("settings")); err != nil {
		t.Fatal(err)
	}
	old := n.natsServer()
	log := natsLog{to: n.cfg.Log, fails: n.fails}
	for range 3 { // each of its files says so
		log.Errorf("Filestore [%s] Critical write error: %v", "parley-log-0", syscall.ENOSPC)
	}
	until(t, "another server", func() bool { return n.natsServer() != old && trouble(n.natsServer()) == "" })
	if old.JetStreamEnabled() {
		t.Error("the server that cannot write goes on")
	}
	if settings, ok, err := n.RoomSettings(t.Context(), "main"); string(settings) != "settings" || !ok || err != nil {
		t.Errorf("%q, %v, %v", settings, ok, err)
	}
}

func TestADiskThatTakesNothing(t *testing.T) {
	if err := tryDisk(t.TempDir() + "/none"); err == nil {
		t.Error("a folder that is not there is written")
	}
	if err := tryDisk(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// A NATS of the operator's that stands still without closing its connections is left for another.
func TestAServerOfNATSThatIsSilent(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(clustertest.NATS(t))
	if err != nil {
		t.Fatal(err)
	}
	var still atomic.Bool
	met := make(chan struct{}, 16)
	go func() { // a way to the NATS that stands still when it is told to, and then for ever
		for {
			in, err := silent.Accept()
			if err != nil {
				return
			}
			met <- struct{}{}
			if still.Load() {
				continue
			}
			out, err := net.Dial("tcp", to.Host)
			if err != nil {
				continue
			}
			for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
				go func() {
					defer way[1].Close()
					b := make([]byte, 32<<10)
					for {
						n, err := way[0].Read(b)
						if err != nil {
							return
						}
						if still.Load() {
							continue
						}
						if _, err := way[1].Write(b[:n]); err != nil {
							return
						}
					}
				}()
			}
		}
	}()
	t.Cleanup(func() { silent.Close() })
	n := newNode(t, Config{URLs: []string{"nats://" + silent.Addr().String()}})
	patient.Value(met)
	if _, err := n.CreateRoom(t.Context(), "main", []byte("settings")); err != nil {
		t.Fatal(err)
	}
	still.Store(true)
	patient.Value(met) // it connects anew
}
