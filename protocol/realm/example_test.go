package realm_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"
	"os"

	"parley/protocol/realm"
	"parley/protocol/realm/core"
)

// open are accounts that let everybody in, by any password.
type open struct{}

func (open) Register(_ netip.AddrPort, _, _ string, answer func(core.RegisterCode)) {
	answer(core.RegisterDisabled)
}
func (open) Login(_ netip.AddrPort, _, _ string, answer func(core.LoginCode)) { answer(realm.LoginOK) }
func (open) Key(name string) string                                           { return name }
func (open) Logout(string)                                                    {}

// A server that lets everybody in, and a client that says something.
func Example() {
	dir, err := os.MkdirTemp("", "realm")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	server, err := realm.Listen("127.0.0.1:0", realm.Config{Accounts: open{}, DataDir: dir}, func(c *realm.Conn, ev realm.Event) {
		if ev.Kind == realm.EventEnter {
			c.Enter(core.Entry{Entity: core.Entity{ID: 1}})
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	ctx := context.Background()
	client, err := realm.Dial(ctx, server.Addr().String(), realm.Config{Fingerprint: server.Fingerprint()})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	code, err := client.Login(ctx, "zoé", "correct horse")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("login:", code)
	if err := client.Say("salut"); err != nil {
		log.Fatal(err)
	}
	for ev := range client.Events() {
		if ev.Kind == realm.EventMessage && ev.Message.Kind == core.KindChatReceive {
			fmt.Printf("entity %d says %s\n", ev.Message.ID, ev.Message.Text)
			break
		}
	}
	// Output:
	// login: ok
	// entity 1 says salut
}

// What all players are to see is encoded once.
func ExampleMux_Broadcast() {
	codec := core.NewCodec(core.Schema{})
	entities, err := codec.Entities(core.Entity{ID: 1, Has: core.HasSpeedNorm, SpeedNorm: 0.5})
	if err != nil {
		log.Fatal(err)
	}
	dir, _ := os.MkdirTemp("", "realm")
	defer os.RemoveAll(dir)
	server, err := realm.Listen("127.0.0.1:0", realm.Config{DataDir: dir}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	_ = server.Do(func() {
		m := server.Mux()
		err := m.Broadcast(&core.Message{Kind: core.KindEntitiesUpdate, Tick: 7, Entities: entities}, nil)
		fmt.Println(err, m.Stats().Broadcast)
	})
	// Output:
	// <nil> 1
}
