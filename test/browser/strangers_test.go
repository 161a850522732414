package browser

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"parley/arena"
	"parley/client"
	"parley/internal/promise"
)

// talker is a player of another program, who hears what is said and sees balls.
type talker struct {
	*client.Client
	mu    sync.Mutex
	heard []string
	ball  bool // it has seen one
}

func (s *server) talker(t *testing.T, name string) *talker {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	c, err := client.Dial(ctx, "replica://"+s.addrs["replica"], arena.Game(), client.Config{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	k := &talker{Client: c}
	go func() {
		for f := range c.Frames(30) {
			for ev := range f.Events() {
				if ev.Kind == client.Said {
					k.mu.Lock()
					k.heard = append(k.heard, ev.Name+": "+ev.Text)
					k.mu.Unlock()
				}
			}
			for range client.All[arena.Ball](f) {
				k.mu.Lock()
				k.ball = true
				k.mu.Unlock()
			}
		}
	}()
	return k
}

func (k *talker) hears(t *testing.T, line string) {
	t.Helper()
	until(t, "another player hears "+line, func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return strings.Contains(strings.Join(k.heard, "\n"), line)
	})
}

// What a player writes is heard by one of another program, and the other way round.
func TestChatBothWays(t *testing.T) {
	promise.Keeps(t, "T77", "play page", 1)
	s := serve(t)
	bob := s.talker(t, "bob")
	p := open(t, s.play())
	p.join(t, "ann")
	p.enter(t)
	p.wait(t, "document.activeElement.id === 'chat-text'")
	p.fill(t, "chat-text", "good evening")
	p.enter(t)
	bob.hears(t, "ann: good evening")
	p.wait(t, "document.getElementById('lines').textContent.includes('ann: good evening')") // one's own line comes back
	if err := bob.Say("good evening, ann"); err != nil {
		t.Fatal(err)
	}
	p.wait(t, "document.getElementById('lines').textContent.includes('bob: good evening, ann')")
	p.wait(t, "document.activeElement.id === 'world'")
}

// A line of a script whose letters have three bytes each is too long for the protocol before it is for the field. It stays, and can be said shortened.
func TestALongLineIsNotLost(t *testing.T) {
	t.Parallel()
	promise.Keeps(t, "T77", "play page", 1)
	s := serve(t)
	bob := s.talker(t, "bob")
	p := open(t, s.play())
	p.join(t, "ann")
	p.enter(t)
	p.wait(t, "document.activeElement.id === 'chat-text'")
	long := strings.Repeat("長い話", 60)
	p.fill(t, "chat-text", long)
	p.enter(t)
	p.wait(t, "document.getElementById('lines').textContent.includes('too long')")
	if !value[bool](t, p, "document.activeElement.id === 'chat-text' && document.activeElement.value === "+quote(long)) {
		t.Error("the line is gone")
	}
	p.fill(t, "chat-text", long[:3*170])
	p.enter(t)
	bob.hears(t, "ann: "+long[:3*170])
	p.wait(t, "document.activeElement.id === 'world' && document.getElementById('chat-text').value === ''")
}

// hostile are names and lines that would do something if they were more than text.
var hostile = []string{
	`<img src=x onerror="window.harm=1">`,
	`<script>window.harm=1</script>`,
	`</li><iframe srcdoc="<script>parent.harm=1</script>">`,
	`"><svg onload=window.harm=1>`,
	"${window.harm=1}{{harm=1}}",
	`javascript:window.harm=1`,
	"\u202egnp.exe \u2066\u200b",
}

// harmless says that nothing on a page is of a stranger's making, and that no character turns the direction of a line.
const harmless = `!("harm" in window) && !document.querySelector("img, iframe, object, embed, body svg, script:not([type=module])") && !/[\u200b\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText)`

// Names and chat are text on the play page, whatever they are.
func TestHostileNamesAndChat(t *testing.T) {
	promise.Keeps(t, "T77", "hostile texts", len(hostile))
	s := serve(t)
	p := open(t, s.play())
	p.join(t, "ann")
	p.click(t, "#who-button")
	for _, text := range hostile {
		text = text[:min(len(text), 64)] // the longest name
		mean := s.talker(t, text)
		if err := mean.Say(text); err != nil {
			t.Fatal(err)
		}
		seen := strings.NewReplacer("\u202e", "·", "\u2066", "·", "\u200b", "·").Replace(text)
		// A name is cut to 32 characters on the page, and a line is not.
		p.wait(t, "document.getElementById('lines').textContent.includes("+quote(": "+seen)+")")
		p.wait(t, "document.getElementById('list').textContent.includes("+quote(string([]rune(seen)[:min(len([]rune(seen)), 20)]))+")")
		if !value[bool](t, p, harmless) {
			t.Errorf("%q is more than text on the play page", text)
		}
	}
}

// The policy of both pages lets nothing come from elsewhere.
func TestThePolicyOfThePages(t *testing.T) {
	promise.Keeps(t, "T77", "policy", 2)
	s := serve(t)
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	for _, page := range []string{s.play(), "http://" + s.addrs["web"] + "/"} {
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		policy := answer.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, "base-uri 'none'") {
			t.Errorf("%s has the policy %q", page, policy)
		}
		for directive := range strings.SplitSeq(policy, ";") {
			words := strings.Fields(directive)
			for _, source := range words[min(1, len(words)):] {
				if source != "'none'" && source != "'self'" && source != "'script'" {
					t.Errorf("%s: %s allows %s", page, words[0], source)
				}
			}
		}
	}
}

// The browser holds to the policy: a page that is made to ask another place, or to run a text, does neither.
func TestThePolicyHolds(t *testing.T) {
	promise.Keeps(t, "T77", "policy", 2)
	s, other := serve(t), serve(t)
	for _, page := range []string{s.play(), "http://" + s.addrs["web"] + "/"} {
		p := open(t, page)
		p.allow("Content Security Policy", "Fetch API cannot load", "TrustedHTML", "TrustedScript", "eval")
		p.strays = true
		if got := value[string](t, p, `fetch(`+quote(other.play()+"play/server")+`).then(() => "came", () => "refused")`); got != "refused" {
			t.Errorf("%s: a request elsewhere %s", page, got)
		}
		if got := value[string](t, p, `(() => { try { document.body.innerHTML = "<b>x</b>"; return "done" } catch { return "refused" } })()`); got != "refused" {
			t.Errorf("%s: HTML from a text is %s", page, got)
		}
		if got := value[string](t, p, `new Promise(r => {
			const i = new Image()
			i.onload = () => r("came")
			i.onerror = () => r("refused")
			i.src = `+quote(other.play()+"page/icon.svg")+`
		})`); got != "refused" {
			t.Errorf("%s: a picture of elsewhere %s", page, got)
		}
	}
}
