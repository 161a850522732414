package schema

import (
	"parley/play/message"
	"parley/protocol/replica/core"
	"parley/world"
)

// replicaTypes are the types of the world as replica has them.
var replicaTypes = [...]core.DataType{
	world.Bool: core.DataUchar, world.U8: core.DataUchar, world.U16: core.DataUshort, world.U32: core.DataUint,
	world.U64: core.DataUint64, world.I8: core.DataChar, world.I16: core.DataShort, world.I32: core.DataInt,
	world.I64: core.DataInt64, world.F32: core.DataFloat, world.F64: core.DataDouble, world.Text: core.DataChars,
	world.Entity: core.DataUshort,
}

// Replica returns the variables of a kind in the link table. The link of each is its place, and the link of a kind is its index in
// the schema.
func Replica(k *world.Kind) (list []core.Variable) {
	for _, v := range message.Variables(k) {
		list = append(list, core.Variable{Name: v.Name, Type: replicaTypes[v.Type]})
	}
	return list
}
