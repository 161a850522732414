package simnet

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// perfect is how the zero Profile is written.
const perfect = "perfect"

// String returns the profile as written in a plan: the fields that are set, separated by spaces, or "perfect".
//
//	delay=25ms jitter=5ms inorder loss=0.2 burst=0.01/0.3/0/1 dup=0.1 corrupt=0.01 reorder=0.1/500ms rate=10000000 queue=100ms mtu=1200
//
// The four numbers of burst are GoodToBad, BadToGood, LossGood and LossBad.
func (p Profile) String() string {
	var words []string
	duration := func(name string, d time.Duration) {
		if d != 0 {
			words = append(words, name+"="+d.String())
		}
	}
	float := func(name string, v float64) {
		if v != 0 {
			words = append(words, name+"="+formatFloat(v))
		}
	}
	integer := func(name string, v int) {
		if v != 0 {
			words = append(words, name+"="+strconv.Itoa(v))
		}
	}
	duration("delay", p.Delay)
	duration("jitter", p.Jitter)
	if p.KeepOrder {
		words = append(words, "inorder")
	}
	float("loss", p.Loss)
	if g := p.Burst; g != nil {
		words = append(words, "burst="+formatFloat(g.GoodToBad)+"/"+formatFloat(g.BadToGood)+
			"/"+formatFloat(g.LossGood)+"/"+formatFloat(g.LossBad))
	}
	float("dup", p.Duplicate)
	float("corrupt", p.Corrupt)
	if p.Reorder != 0 || p.ReorderBy != 0 {
		words = append(words, "reorder="+formatFloat(p.Reorder)+"/"+p.ReorderBy.String())
	}
	integer("rate", p.Rate)
	if p.Queue < 0 {
		words = append(words, "queue=0s")
	} else {
		duration("queue", p.Queue)
	}
	integer("mtu", p.MTU)
	if len(words) == 0 {
		return perfect
	}
	return strings.Join(words, " ")
}

// formatFloat writes the shortest text that reads back as the same number.
func formatFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// ParseProfile reads the text of Profile.String. The words may come in any order. The name of a profile (see Names) may come
// first. The words after it then change that profile. A share may also be written as 5%, and a rate as 400k, 1.5M or 1G.
// queue=0 is no queue. The error names the word and says which values it takes.
func ParseProfile(text string) (Profile, error) {
	var p Profile
	for i, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		if named, ok := ByName(word); ok && i == 0 {
			p = named
			continue
		}
		if err := p.Set(name, value); err != nil {
			return Profile{}, fmt.Errorf("simnet: profile: %q: %w", word, err)
		}
	}
	return p, p.Validate()
}
