package parley

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"parley/internal/patient"
)

// The test holds the lock of the file, as somebody does for whom a slow disk writes.
func TestASlowDiskDelaysOnlyThoseWhoChangeBans(t *testing.T) {
	b, err := openBans(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	hosts := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("2001:db8::1")}
	b.disk.Lock()
	var writers sync.WaitGroup
	for _, a := range hosts {
		writers.Go(func() {
			change, err := b.add(Ban{Prefix: netip.PrefixFrom(a, a.BitLen())})
			if err == nil {
				err = b.keep(change)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	patient.Until(t, "all bans hold", func() bool { return b.count() == len(hosts) && len(b.list(time.Now())) == len(hosts) })
	for _, a := range hosts {
		if !b.set.Holds(time.Now(), a) {
			t.Errorf("the ban of %v waits for the disk", a)
		}
	}
	if list, err := readBans(b.file); err != nil || len(list) != 0 {
		t.Errorf("the file has %v, %v before the disk has written it", list, err)
	}
	b.disk.Unlock()
	patient.Done(writers.Wait)
	if list, err := readBans(b.file); err != nil || len(list) != len(hosts) {
		t.Errorf("the file has %v, %v, want %d bans", list, err, len(hosts))
	}
}

// A writer that comes to the disk late must not put an older list in place of a newer one.
func TestTheFileOfBansNeverGoesBack(t *testing.T) {
	b, err := openBans(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := netip.MustParsePrefix("192.0.2.0/24")
	banned, err := b.add(Ban{Prefix: p})
	if err != nil {
		t.Fatal(err)
	}
	lifted, err := b.remove(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []uint64{lifted, banned} {
		if err := b.keep(change); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := readBans(b.file); err != nil || len(list) != 0 {
		t.Errorf("the file has %v, %v, and the ban is lifted", list, err)
	}
}
