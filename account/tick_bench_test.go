package account_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/account"
	"parley/account/sqlite"
	"parley/internal/patient"
)

const (
	tickPeriod = 50 * time.Millisecond
	blockTicks = 100  // in a row with log-ins, and then in a row without
	inFlight   = 1000 // log-ins

	// canaryVariable has, in the environment of a process that only watches, when its first tick is due.
	canaryVariable = "PARLEY_ACCOUNT_CANARY"
)

// A sample is one tick: by how much it began after its time, and how long its work took.
type sample struct{ late, took time.Duration }

// worldWork stands for what a tick does: some 2 ms over 8 MiB of memory.
type worldWork struct{ cells []uint64 }

func (w *worldWork) step() {
	for i := range w.cells {
		w.cells[i] = w.cells[i]*6364136223846793005 + uint64(i)
	}
}

// "1,000 log-ins in flight never delay a 20 Hz tick by more than 5 ms." An iteration is 100 ticks without and 100 with log-ins, each
// of which is sent anew by the first tick after its answer, on SQLite and with real hashes. Late is when a tick began after
// its time; longer is by how much its work took longer than the median without log-ins.
//
// A machine delays ticks by itself. Two things tell by how much: the ticks without log-ins in the same run, and a canary, another
// process that does nothing but wake half-way between our ticks, which the log-ins reach only by way of the machine. By how much
// a tick is later than the canary was just before and after it is called own. Steal is what the hypervisor kept from this
// machine.
func BenchmarkTickUnderLogins(b *testing.B) {
	store, err := sqlite.Open(filepath.Join(b.TempDir(), sqlite.FileName))
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	s := account.New(store, account.Config{})
	(&desk{Service: s, t: b}).make("ann")
	s.Close()

	world := &worldWork{make([]uint64, 1<<20)}
	world.step()
	start := time.Now().Add(time.Second).Round(tickPeriod)
	birds := newCanary(b, start)
	var series [2][]sample // without and with log-ins
	var number [2][]int    // which of the canary's ticks each is
	logins, stolen := 0, -stealTicks()
	pauses := -collections()
	tick := 0
	run := func(with int) {
		var crowd *loginCrowd
		if with == 1 {
			crowd = newLoginCrowd(b, store)
			defer func() { logins += crowd.stop() }()
		}
		tick = int(time.Since(start)/tickPeriod) + 2
		for range blockTicks {
			due := start.Add(time.Duration(tick) * tickPeriod)
			time.Sleep(time.Until(due))
			began := time.Now()
			if crowd != nil {
				crowd.send()
			}
			world.step()
			series[with] = append(series[with], sample{began.Sub(due), time.Since(began)})
			number[with] = append(number[with], tick)
			tick = max(tick+1, int(time.Since(start)/tickPeriod)+1) // one that was missed does not make the next late
		}
	}
	for b.Loop() {
		run(0)
		run(1)
	}
	stolen += stealTicks()
	pauses += collections()
	time.Sleep(tickPeriod) // so that the canary has seen the last of it
	machine := birds.stop(b)
	report(b, series, number, machine)
	b.ReportMetric(float64(logins)/(b.Elapsed().Seconds()/2), "logins/s")
	b.ReportMetric(float64(stolen)*10/b.Elapsed().Seconds(), "ms-steal/s")
	b.ReportMetric(float64(pauses)/b.Elapsed().Seconds(), "gc/s")
}

// report says for both series what the worst were.
func report(b *testing.B, series [2][]sample, number [2][]int, machine map[int]time.Duration) {
	usual := sorted(series[0], func(x sample) time.Duration { return x.took })[len(series[0])/2]
	for with, name := range []string{"without", "with"} {
		late := sorted(series[with], func(x sample) time.Duration { return x.late })
		ends := sorted(series[with], func(x sample) time.Duration { return x.late + x.took - usual })
		var own, bird []time.Duration
		for i, x := range series[with] {
			tick := number[with][i]
			around := max(machine[tick-1], machine[tick]) // each is half a period after our tick of that number
			own = append(own, max(0, x.late-around))
			bird = append(bird, around)
		}
		slices.Sort(own)
		slices.Sort(bird)
		over := 0
		for _, d := range late {
			if d > 5*time.Millisecond {
				over++
			}
		}
		n := len(late)
		b.Logf("%-7s log-ins, %d ticks: late p50 %v, p99 %v, p99.9 %v, worst %v, %d over 5 ms; late and longer p99 %v, worst %v; canary p99 %v, worst %v; own p99 %v, worst %v",
			name, n, late[n/2], late[n*99/100], late[n*999/1000], late[n-1], over, ends[n*99/100], ends[n-1], bird[n*99/100], bird[n-1], own[n*99/100], own[n-1])
		b.ReportMetric(float64(late[n*99/100])/1e6, "ms-p99-"+name)
		b.ReportMetric(float64(late[n-1])/1e6, "ms-max-"+name)
		b.ReportMetric(float64(own[n-1])/1e6, "ms-own-max-"+name)
	}
}

func sorted(list []sample, of func(sample) time.Duration) (out []time.Duration) {
	for _, x := range list {
		out = append(out, of(x))
	}
	slices.Sort(out)
	return out
}

// loginCrowd keeps log-ins in flight at a Service of its own.
type loginCrowd struct {
	b       *testing.B
	service *account.Service

	mu       sync.Mutex
	flying   int
	answered int
}

func newLoginCrowd(b *testing.B, store account.Store) *loginCrowd {
	c := &loginCrowd{b: b, service: account.New(store, account.Config{Failures: -1})}
	c.send()
	return c
}

// send sends as many as were answered.
func (c *loginCrowd) send() {
	c.mu.Lock()
	missing, from := inFlight-c.flying, c.answered
	c.flying = inFlight
	c.mu.Unlock()
	for i := range missing {
		err := c.service.Login(stranger((from+i)%500), "ann", "wrong password", func(a account.Answer) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.flying--
			if a.Result == account.WrongPassword {
				c.answered++
			}
		})
		if err != nil {
			c.b.Error(err)
		}
	}
}

func (c *loginCrowd) stop() (answered int) {
	c.service.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answered
}

// A canary is the process that only watches.
type canary struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bytes.Buffer
}

func newCanary(b *testing.B, start time.Time) *canary {
	c := &canary{cmd: exec.Command(os.Args[0]), out: new(bytes.Buffer)}
	c.cmd.Env = append(os.Environ(), canaryVariable+"="+strconv.FormatInt(start.UnixNano(), 10))
	c.cmd.Stdout, c.cmd.Stderr = c.out, os.Stderr
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// stop ends it and returns how late each of its ticks was.
func (c *canary) stop(b *testing.B) map[int]time.Duration {
	c.stdin.Close()
	if err := patient.Exit(c.cmd); err != nil {
		b.Fatal(err)
	}
	late := map[int]time.Duration{}
	for lines := bufio.NewScanner(c.out); lines.Scan(); {
		var tick int
		var by time.Duration
		if _, err := fmt.Sscan(lines.Text(), &tick, &by); err != nil {
			b.Fatal(err)
		}
		late[tick] = by
	}
	return late
}

// watch is what the canary does until its input ends.
func watch(start time.Time) {
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	var out bytes.Buffer
	for tick := 0; ; tick++ {
		due := start.Add(time.Duration(tick)*tickPeriod + tickPeriod/2)
		if time.Until(due) < 0 {
			continue // it was missed because the one before was late
		}
		select {
		case <-time.After(time.Until(due)):
			fmt.Fprintln(&out, tick, time.Since(due).Nanoseconds())
		case <-ended:
			os.Stdout.Write(out.Bytes())
			return
		}
	}
}

// stealTicks is the time that a hypervisor gave to others, in hundredths of a second; 0 where nobody says.
func stealTicks() int {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	if fields := strings.Fields(string(b[:bytes.IndexByte(b, '\n')])); len(fields) > 8 {
		n, _ := strconv.Atoi(fields[8])
		return n
	}
	return 0
}

// collections is how often the garbage collector has run.
func collections() int {
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64())
}
