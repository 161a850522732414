package simnet

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Set changes what one word of a profile names: Set("rate", "400k") is the word rate=400k. The error says which values
// the word takes.
func (p *Profile) Set(name, value string) (err error) {
	switch name {
	case "delay":
		p.Delay, err = parseSpan(value)
	case "jitter":
		p.Jitter, err = parseSpan(value)
	case "inorder":
		p.KeepOrder = true
		if value != "" {
			return errors.New("inorder is a word without a value")
		}
	case "loss":
		p.Loss, err = parseShare(value)
	case "burst":
		p.Burst, err = parseGilbert(value)
	case "dup":
		p.Duplicate, err = parseShare(value)
	case "corrupt":
		p.Corrupt, err = parseShare(value)
	case "reorder":
		err = p.setReorder(value)
	case "rate":
		p.Rate, err = parseRate(value)
	case "queue":
		err = p.setQueue(value)
	case "mtu":
		if p.MTU, err = strconv.Atoi(value); err != nil || p.MTU < 0 {
			return errors.New("give a number of bytes, such as 1200; 0 is no limit")
		}
	default:
		return fmt.Errorf("no such word; the words are delay=, jitter=, inorder, loss=, burst=, dup=, corrupt=, reorder=, rate=, queue= and mtu=, and the first may be a name: %s", strings.Join(Names(), ", "))
	}
	return err
}

func (p *Profile) setReorder(value string) error {
	chance, by, _ := strings.Cut(value, "/")
	var errChance, errBy error
	p.Reorder, errChance = parseShare(chance)
	p.ReorderBy, errBy = parseSpan(by)
	if errChance != nil || errBy != nil {
		return errors.New("give the share and the longest time that it is held back, such as 0.01/20ms or 1%/20ms")
	}
	return nil
}

// setQueue takes 0 for no queue, since a profile in which nothing is said of a queue has one.
func (p *Profile) setQueue(value string) error {
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 || d > maxDelay {
		return fmt.Errorf("give the longest wait, such as %v; 0 is no queue", DefaultQueue)
	}
	if d == 0 {
		d = noQueue
	}
	p.Queue = d
	return nil
}

// parseSpan reads a time of a profile or a plan.
func parseSpan(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxDelay {
		return 0, fmt.Errorf("give a time from 0 to %.0fh, such as 25ms or 1.5s", maxDelay.Hours())
	}
	return d, nil
}

// parseShare reads 0.05 or 5%.
func parseShare(text string) (float64, error) {
	number, isPercent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if isPercent {
		v /= 100
	}
	if err != nil || !isProbability(v) {
		return 0, errors.New("give a share from 0 to 1, such as 0.05 or 5%")
	}
	return v, nil
}

// parseRate reads 2000000, 400k, 1.5M or 1G. It moves the point in the text: a float would make some rates one bit less.
func parseRate(text string) (int, error) {
	number, zeros := text, 0
	for i, letters := range []string{"kK", "mM", "gG"} {
		if last := len(text) - 1; last >= 0 && strings.ContainsRune(letters, rune(text[last])) {
			number, zeros = text[:last], 3*(i+1)
		}
	}
	whole, part, hasPart := strings.Cut(number, ".")
	part = strings.TrimRight(part, "0")
	digits := whole + part + strings.Repeat("0", max(0, zeros-len(part)))
	v, err := strconv.Atoi(digits)
	if err != nil || whole == "" || hasPart && zeros == 0 || len(part) > zeros || strings.ContainsAny(digits, "+-") {
		return 0, errors.New("give whole bits a second, such as 2000000, 400k, 1.5M or 1G; 0 is no limit")
	}
	return v, nil
}

func parseGilbert(text string) (*Gilbert, error) {
	parts := strings.Split(text, "/")
	var v [4]float64
	ok := len(parts) == len(v)
	for i := 0; ok && i < len(v); i++ {
		var err error
		v[i], err = parseShare(parts[i])
		ok = err == nil
	}
	if !ok {
		return nil, errors.New("give four shares: good to bad, bad to good, loss when good, loss when bad, such as 0.01/0.3/0/1")
	}
	return &Gilbert{GoodToBad: v[0], BadToGood: v[1], LossGood: v[2], LossBad: v[3]}, nil
}
