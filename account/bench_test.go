package account_test

import (
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"parley/account"
	"parley/account/sqlite"
	"parley/internal/kit/chance"
)

// realDesk is a Service as in earnest: real hashes, and SQLite.
func realDesk(b *testing.B, config account.Config) *desk {
	b.Helper()
	store, err := sqlite.Open(filepath.Join(b.TempDir(), sqlite.FileName))
	if err != nil {
		b.Fatal(err)
	}
	d := &desk{Service: account.New(store, config), t: b}
	b.Cleanup(func() {
		d.Close()
		store.Close()
	})
	return d
}

// T44: what a log-in takes that fails for different reasons: medians, and the largest distance between two of the
// distributions (Kolmogorov-Smirnov), with the one that chance exceeds once in a hundred.
func BenchmarkLoginTiming(b *testing.B) {
	d := realDesk(b, account.Config{HideUnknown: true, Failures: -1})
	d.make("ann", "banned")
	d.want("ban", d.ban("banned", time.Time{}), account.OK)
	kinds := []struct{ name, who, password string }{
		{"unknown", "nobody", "wrong password"},
		{"wrong", "ann", "wrong password"},
		{"banned", "banned", "wrong password"},
		{"empty", "ann", ""},
	}
	took := make([][]float64, len(kinds))
	rng := chance.Rand(b, 0xacc)
	for b.Loop() {
		// In a new order each time: every second hash has the garbage collector clean up after two, and in a fixed order it would be
		// the same kind that pays for it.
		for _, i := range rng.Perm(len(kinds)) {
			k := kinds[i]
			began := time.Now()
			a := d.login(home, k.who, k.password)
			took[i] = append(took[i], float64(time.Since(began))/float64(time.Millisecond))
			d.want(k.name, a, account.WrongPassword)
		}
	}
	for i, k := range kinds {
		slices.Sort(took[i])
		b.ReportMetric(took[i][len(took[i])/2], "ms-"+k.name)
	}
	worst := 0.0
	for i := range kinds {
		for j := range i {
			worst = max(worst, distance(took[i], took[j]))
		}
	}
	n := float64(len(took[0]))
	b.ReportMetric(worst, "KS")
	b.ReportMetric(1.628*math.Sqrt(2/n), "KS-limit")
}

// distance is the largest one between the shares of two sorted samples that are below a value.
func distance(a, b []float64) (most float64) {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if a[i] <= b[j] {
			i++
		} else {
			j++
		}
		most = max(most, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return most
}

// What a password costs.
func BenchmarkHash(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := account.HashPassword(password); err != nil {
			b.Fatal(err)
		}
	}
}

// What a tick pays for a log-in that is not answered at once.
func BenchmarkLoginCall(b *testing.B) {
	d := newDesk(b, account.Config{Failures: -1, Queue: 1 << 20})
	release := d.store.hold("Find")
	defer release()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if err := d.Login(stranger(i), "Ann", password, nil); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
