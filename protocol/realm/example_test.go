package realm_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"
	"os"

	"parley/protocol/realm"
)

// open are accounts that let everybody in, by any password.
type open struct{}

func (open) Register(_ netip.AddrPort, _, _ string, answer func(realm.RegisterCode)) {
	answer(realm.RegisterDisabled)
}
func (open) Login(_ netip.AddrPort, _, _ string, answer func(realm.LoginCode)) { answer(realm.LoginOK) }
func (open) Logout(string)                                                     {}

// A server that lets everybody in, and a client that says something.
func Example() {
	dir, err := os.MkdirTemp("", "realm")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	server, err := realm.Listen("127.0.0.1:0", realm.ServerConfig{Accounts: open{}, DataDir: dir}, func(c *realm.Conn, ev realm.Event) {
		if ev.Kind == realm.EventEnter {
			c.Enter(realm.Entry{Entity: realm.Entity{ID: 1}})
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	ctx := context.Background()
	client, err := realm.Dial(ctx, server.Addr().String(), realm.ClientConfig{Fingerprint: server.Fingerprint()})
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
		if ev.Kind == realm.EventMessage && ev.Message.Kind == realm.KindChatReceive {
			fmt.Printf("entity %d says %s\n", ev.Message.ID, ev.Message.Text)
			break
		}
	}
	// Output:
	// login: ok
	// entity 1 says salut
}

// The codec stands alone: a schema says what the game's attributes are.
func ExampleCodec() {
	codec := realm.NewCodec(realm.Schema{Attributes: map[uint16]realm.Field{1: {Name: "health", Type: realm.TypeU16}}})
	health, err := codec.Attributes(realm.Attribute{ID: 1, Value: realm.U16(100)})
	if err != nil {
		log.Fatal(err)
	}
	b := codec.AppendTo(nil, &realm.Message{Kind: realm.KindEntityCreate, Tick: 4,
		Entity: realm.Entity{ID: 513, Has: realm.HasSprite | realm.HasObject, Sprite: 2, Attributes: health}})
	fmt.Printf("%x\n", b)

	var m realm.Message
	if err := codec.ParseErr(realm.FromServer, b, &m); err != nil {
		log.Fatal(err)
	}
	for id, v := range m.Entity.Attributes.All() {
		fmt.Println(m.Kind, "of", m.Entity.ID, "with", id, "=", v.Uint())
	}
	fmt.Println(codec.ParseErr(realm.FromServer, b[:10], &m))
	// Output:
	// 0e00040201030002000100010064
	// entity_create of 513 with 1 = 100
	// attributes[0].attribute: 2 bytes wanted at offset 10, 0 left
}

// What all players are to see is encoded once.
func ExampleMux_Broadcast() {
	codec := realm.NewCodec(realm.Schema{})
	entities, err := codec.Entities(realm.Entity{ID: 1, Has: realm.HasSpeedNorm, SpeedNorm: 0.5})
	if err != nil {
		log.Fatal(err)
	}
	dir, _ := os.MkdirTemp("", "realm")
	defer os.RemoveAll(dir)
	server, err := realm.Listen("127.0.0.1:0", realm.ServerConfig{DataDir: dir}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	_ = server.Do(func(m *realm.Mux) {
		err := m.Broadcast(&realm.Message{Kind: realm.KindEntitiesUpdate, Tick: 7, Entities: entities}, nil)
		fmt.Println(err, m.Stats().Broadcast)
	})
	// Output:
	// <nil> 1
}
