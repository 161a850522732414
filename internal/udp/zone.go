package udp

import (
	"net"
	"strconv"
	"sync"
	"sync/atomic"
)

// zones knows the names of the machine's interfaces. All sockets share it.
var zones zoneTable

// zoneTable maps interface names to numbers and back. Asking the system costs
// microseconds and allocates, so answers are kept; readers take no lock.
// The zero zoneTable is empty and ready.
type zoneTable struct {
	mu    sync.Mutex // held by writers
	known atomic.Pointer[zoneNames]
}

type zoneNames struct {
	byIndex map[uint32]string
	byName  map[string]uint32
}

// name returns the name of interface index, or its number in decimal when the
// system has no such interface, or "" for 0.
func (z *zoneTable) name(index uint32) string {
	if index == 0 {
		return ""
	}
	if k := z.known.Load(); k != nil {
		if name, ok := k.byIndex[index]; ok {
			return name
		}
	}
	name := strconv.FormatUint(uint64(index), 10)
	if ifi, err := net.InterfaceByIndex(int(index)); err == nil {
		name = ifi.Name
	}
	z.learn(index, name)
	return name
}

// index returns the number of the interface called name, which may also be its
// number in decimal, or 0 when there is none.
func (z *zoneTable) index(name string) uint32 {
	if name == "" {
		return 0
	}
	if k := z.known.Load(); k != nil {
		if index, ok := k.byName[name]; ok {
			return index
		}
	}
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		index, _ := strconv.ParseUint(name, 10, 32)
		return uint32(index)
	}
	z.learn(uint32(ifi.Index), name)
	return uint32(ifi.Index)
}

// learn adds a pair. It replaces the whole table, as readers may be using the old one.
func (z *zoneTable) learn(index uint32, name string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	old := z.known.Load()
	k := &zoneNames{map[uint32]string{}, map[string]uint32{}}
	if old != nil && len(old.byIndex) < maxZones {
		for i, n := range old.byIndex {
			k.byIndex[i], k.byName[n] = n, i
		}
	}
	k.byIndex[index], k.byName[name] = name, index
	z.known.Store(k)
}

// forget empties the table, after an interface has gone or was renamed.
func (z *zoneTable) forget() { z.known.Store(nil) }
