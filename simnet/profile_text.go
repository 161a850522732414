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
	duration("queue", p.Queue)
	integer("mtu", p.MTU)
	if len(words) == 0 {
		return perfect
	}
	return strings.Join(words, " ")
}

// formatFloat writes the shortest text that reads back as the same number.
func formatFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// ParseProfile reads the text of Profile.String. The words may come in any order. The name of a profile (see Names) may come
// first. The words after it then change that profile.
func ParseProfile(text string) (Profile, error) {
	var p Profile
	for i, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		if named, ok := ByName(word); ok && i == 0 {
			p = named
			continue
		}
		if err := p.setWord(name, value); err != nil {
			return Profile{}, fmt.Errorf("simnet: profile: %q: %w", word, err)
		}
	}
	return p, p.Validate()
}

func (p *Profile) setWord(name, value string) (err error) {
	switch name {
	case "delay":
		p.Delay, err = time.ParseDuration(value)
	case "jitter":
		p.Jitter, err = time.ParseDuration(value)
	case "inorder":
		p.KeepOrder = true
	case "loss":
		p.Loss, err = strconv.ParseFloat(value, 64)
	case "burst":
		p.Burst, err = parseGilbert(value)
	case "dup":
		p.Duplicate, err = strconv.ParseFloat(value, 64)
	case "corrupt":
		p.Corrupt, err = strconv.ParseFloat(value, 64)
	case "reorder":
		chance, by, _ := strings.Cut(value, "/")
		if p.Reorder, err = strconv.ParseFloat(chance, 64); err == nil {
			p.ReorderBy, err = time.ParseDuration(by)
		}
	case "rate":
		p.Rate, err = strconv.Atoi(value)
	case "queue":
		p.Queue, err = time.ParseDuration(value)
	case "mtu":
		p.MTU, err = strconv.Atoi(value)
	default:
		return fmt.Errorf("no such word; the words are delay=, jitter=, inorder, loss=, burst=, dup=, corrupt=, reorder=, rate=, queue= and mtu=, and the first may be a name: %s", strings.Join(Names(), ", "))
	}
	return err
}

func parseGilbert(text string) (*Gilbert, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 4 {
		return nil, fmt.Errorf("burst has four numbers: good to bad, bad to good, loss when good, loss when bad")
	}
	var v [4]float64
	for i, part := range parts {
		var err error
		if v[i], err = strconv.ParseFloat(part, 64); err != nil {
			return nil, err
		}
	}
	return &Gilbert{GoodToBad: v[0], BadToGood: v[1], LossGood: v[2], LossBad: v[3]}, nil
}
