package cluster

import (
	"testing"
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

func TestADiskThatTakesNothing(t *testing.T) {
	if err := tryDisk(t.TempDir() + "/none"); err == nil {
		t.Error("a folder that is not there is written")
	}
	if err := tryDisk(t.TempDir()); err != nil {
		t.Error(err)
	}
}
