package simnet

import "time"

// The named profiles are one direction each, so a round trip has twice the delay. Their figures are round numbers of
// the right size, not the measurements of one place.

// Lan is a wired network in a house: 0.2 to 0.3 ms, nothing lost, 1 Gbit/s.
func Lan() Profile {
	return Profile{
		Delay: 200 * time.Microsecond, Jitter: 100 * time.Microsecond, KeepOrder: true,
		Rate: 1_000_000_000, Queue: 20 * time.Millisecond, MTU: 1500,
	}
}

// Wifi is a home's wireless network and a good line behind it: 10 to 18 ms, 0.2% lost singly and about 0.3% in bursts
// of 3, 50 Mbit/s.
func Wifi() Profile {
	return Profile{
		Delay: 10 * time.Millisecond, Jitter: 8 * time.Millisecond, KeepOrder: true,
		Loss: 0.002, Burst: &Gilbert{GoodToBad: 0.001, BadToGood: 1.0 / 3, LossBad: 1},
		Duplicate: 0.0001, Rate: 50_000_000, Queue: 100 * time.Millisecond, MTU: 1500,
	}
}

// FourG is a mobile network with fair reception: 30 to 50 ms, 0.5% lost singly and about 1% in bursts of 4,
// some reordered by up to 20 ms, 20 Mbit/s with a long queue.
func FourG() Profile {
	return Profile{
		Delay: 30 * time.Millisecond, Jitter: 20 * time.Millisecond, KeepOrder: true,
		Loss: 0.005, Burst: &Gilbert{GoodToBad: 0.0025, BadToGood: 0.25, LossBad: 1},
		Duplicate: 0.0005, Reorder: 0.005, ReorderBy: 20 * time.Millisecond,
		Rate: 20_000_000, Queue: 300 * time.Millisecond, MTU: 1428,
	}
}

// Bad is a connection that players complain about: 80 to 140 ms, 5% lost singly and about 5% in bursts of 5,
// 1% duplicated, 5% reordered by up to 60 ms, 2 Mbit/s with a queue of half a second.
func Bad() Profile {
	return Profile{
		Delay: 80 * time.Millisecond, Jitter: 60 * time.Millisecond,
		Loss: 0.05, Burst: &Gilbert{GoodToBad: 0.0105, BadToGood: 0.2, LossBad: 1},
		Duplicate: 0.01, Reorder: 0.05, ReorderBy: 60 * time.Millisecond, Corrupt: 0.0001,
		Rate: 2_000_000, Queue: 500 * time.Millisecond, MTU: 1400,
	}
}

// Satellite is a geostationary satellite: 280 to 310 ms each way, 0.5% lost singly and about 0.5% in bursts of 10,
// 15 Mbit/s.
func Satellite() Profile {
	return Profile{
		Delay: 280 * time.Millisecond, Jitter: 30 * time.Millisecond, KeepOrder: true,
		Loss: 0.005, Burst: &Gilbert{GoodToBad: 0.0005, BadToGood: 0.1, LossBad: 1},
		Rate: 15_000_000, Queue: 500 * time.Millisecond, MTU: 1400,
	}
}

var named = []struct {
	name    string
	profile func() Profile
}{
	{perfect, func() Profile { return Profile{} }},
	{"lan", Lan}, {"wifi", Wifi}, {"4g", FourG}, {"bad", Bad}, {"satellite", Satellite},
}

// ByName returns the profile with a name. Names lists them.
func ByName(name string) (Profile, bool) {
	for _, n := range named {
		if n.name == name {
			return n.profile(), true
		}
	}
	return Profile{}, false
}

// Names lists the named profiles, from good to bad: perfect, lan, wifi, 4g, bad, satellite.
func Names() []string {
	var names []string
	for _, n := range named {
		names = append(names, n.name)
	}
	return names
}
