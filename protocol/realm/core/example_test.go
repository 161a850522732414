package core_test

import (
	"fmt"
	"log"

	"parley/protocol/realm/core"
)

// The codec stands alone: a schema says what the game's attributes are.
func ExampleCodec() {
	codec := core.NewCodec(core.Schema{Attributes: map[uint16]core.Field{1: {Name: "health", Type: core.TypeU16}}})
	health, err := codec.Attributes(core.Attribute{ID: 1, Value: core.U16(100)})
	if err != nil {
		log.Fatal(err)
	}
	b := codec.AppendTo(nil, &core.Message{Kind: core.KindEntityCreate, Tick: 4,
		Entity: core.Entity{ID: 513, Has: core.HasSprite | core.HasObject, Sprite: 2, Attributes: health}})
	fmt.Printf("%x\n", b)

	var m core.Message
	if err := codec.ParseErr(core.FromServer, b, &m); err != nil {
		log.Fatal(err)
	}
	for id, v := range m.Entity.Attributes.All() {
		fmt.Println(m.Kind, "of", m.Entity.ID, "with", id, "=", v.Uint())
	}
	fmt.Println(codec.ParseErr(core.FromServer, b[:10], &m))
	// Output:
	// 0e00040201030002000100010064
	// entity_create of 513 with 1 = 100
	// attributes[0].attribute: 2 bytes wanted at offset 10, 0 left
}
