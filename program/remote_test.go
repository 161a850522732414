package program

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// fakeAPI answers the operator's API with texts as docs/api.md has them, and notes what it is asked.
type fakeAPI struct {
	url, tokenFile string
	asked          []string // "METHOD /path body"
}

const fakeRoom = `{"name":"duel-7","state":"awake","mode":"duel","seed":"1152921504606846976","open":false,"max_players":2,"accounts":["ada"],"idle":300,"players":1,"away":1,"tick":812,"tick_p99_ms":0.25,"kept":true,"node":"fra-1"}`

func newFakeAPI(t *testing.T, answers map[string]string) *fakeAPI {
	t.Helper()
	f := &fakeAPI{tokenFile: writeFile(t, "secret-token\n")}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		call := r.Method + " " + r.URL.Path
		f.asked = append(f.asked, strings.TrimSpace(call+" "+string(body)))
		status, text := 404, `{"error":"there is no `+r.URL.Path+`"}`
		if answer, ok := answers[call]; ok {
			fmt.Sscan(answer, &status)
			_, text, _ = strings.Cut(answer, " ")
		}
		if r.Header.Get("Authorization") != "Bearer secret-token" {
			status, text = 401, `{"error":"send the token"}`
		}
		w.WriteHeader(status)
		io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	f.url = s.URL
	return f
}

func (f *fakeAPI) run(args ...string) result {
	return runWith(builtIn(), strings.NewReader(""), append(args, "--server", f.url, "--token-file", f.tokenFile))
}

func TestCommandsOfAnOperator(t *testing.T) {
	answers := map[string]string{
		"GET /v1/rooms":                     `200 {"rooms":[` + fakeRoom + `,{"name":"main","state":"asleep","open":true,"seed":"7","max_players":1000}]}`,
		"GET /v1/rooms/duel-7":              `200 ` + fakeRoom,
		"GET /v1/rooms/loud":                `200 {"name":"loud","state":"awake","mode":"\u001b[2J\u009b1m\u202e\nduel","seed":"0","open":true,"max_players":2}`,
		"GET /v1/rooms/over":                `200 {"name":"over","state":"ended","seed":"0","tick":99,"result":"ada wins\u001b[31m","ended":"2026-11-17T20:15:00Z"}`,
		"POST /v1/rooms":                    `201 ` + fakeRoom,
		"DELETE /v1/rooms/duel-7":           `204`,
		"GET /v1/players":                   `200 {"players":[{"id":3,"name":"ada\u0007","dialect":"relay","carrier":"udp","room":"main","address":"198.51.100.7:5000","rtt_ms":31.5,"conn":17}]}`,
		"GET /v1/rooms/main/players":        `200 {"players":[]}`,
		"DELETE /v1/rooms/main/players/3":   `204`,
		"GET /v1/bans":                      `200 {"bans":[{"address":"203.0.113.0/24","reason":"spam"},{"account":"eve"}]}`,
		"POST /v1/bans":                     `200 {"address":"203.0.113.0/24","reason":"spam"}`,
		"DELETE /v1/bans":                   `204`,
		"POST /v1/say":                      `204`,
		"POST /v1/tickets":                  `200 {"ticket":"54aa","room":"main","expires":"2026-11-17T20:15:00Z"}`,
		"POST /v1/match":                    `200 {"room":"match-x","ticket":"54bb","addresses":[{"dialect":"replica","carrier":"udp","address":"127.0.0.1:7000"}]}`,
		"GET /v1/cluster":                   `200 {"cluster":"arena","nodes":[],"rooms":[]}`,
		"POST /v1/cluster/drain":            `204`,
		"POST /v1/cluster/move":             `204`,
		"GET /v1/rooms/wrong":               `400 {"error":"0.0.0.0/0 is every address"}`,
		"GET /v1/rooms/broken":              `500 {"error":"the server failed; its log says why"}`,
		"DELETE /v1/rooms/main":             `409 {"error":"the room main ends with the server"}`,
		"GET /v1/rooms/lobby":               `404 {"error":"there is no /v1/rooms/lobby here; there are /play/server, /play/rooms and /play/match"}`,
		"GET /v1/rooms/page":                `200 <html>`,
		"GET /v1/rooms/odd":                 `502 Bad Gateway`,
		"DELETE /v1/rooms/main/players/999": `404 {"error":"there is no such player"}`,
	}
	for _, tt := range []struct {
		args   string
		asked  string
		status int
		want   string // in what it prints
	}{
		{"rooms", "GET /v1/rooms", 0, "duel-7  awake   duel  1/2      1     812   0.2ms  closed  -\n"},
		{"rooms --json", "GET /v1/rooms", 0, `{"rooms":[{"name":"duel-7",`},
		{"rooms duel-7", "GET /v1/rooms/duel-7", 0, "duel-7"},
		{"rooms loud", "GET /v1/rooms/loud", 0, "loud  awake  ·[2J·1m··duel  0/2 "},
		{"rooms loud --json", "GET /v1/rooms/loud", 0, `"mode":"\u001b[2J\u009b1m\u202e\nduel"`},
		{"rooms over", "GET /v1/rooms/over", 0, "over  ended  -     -        -     99    -    -      ada wins·[31m\n"},
		{"rooms nowhere", "GET /v1/rooms/nowhere", 3, "parley: there is no /v1/rooms/nowhere\n"},
		{"rooms wrong", "GET /v1/rooms/wrong", 2, "parley: 0.0.0.0/0 is every address\n"},
		{"rooms broken", "GET /v1/rooms/broken", 1, "parley: the server failed; its log says why\n"},
		{"rooms lobby", "GET /v1/rooms/lobby", 1, "is where players find rooms and matches (--play); name the address of the server's --web with --server\n"},
		{"rooms page", "GET /v1/rooms/page", 1, "is no parley server: its answer is not JSON"},
		{"rooms odd", "GET /v1/rooms/odd", 1, "it answers with status 502"},
		{"rooms No", "", 2, `"No" is no name of a room`},
		{"rooms a b", "", 2, "takes the name of one room"},
		{"rooms open duel-7", `POST /v1/rooms {"name":"duel-7"}`, 0, "duel-7"},
		{"rooms open duel-7 --mode duel --seed 18446744073709551615 --max-players 2 --closed --accounts ada,ben --idle 90s",
			`POST /v1/rooms {"name":"duel-7","seed":"18446744073709551615","mode":"duel","max_players":2,"open":false,"accounts":["ada","ben"],"idle":90}`, 0, "duel-7"},
		{"rooms open duel-7 --idle -1s", `POST /v1/rooms {"name":"duel-7","idle":-1}`, 0, "duel-7"},
		{"rooms open", "", 2, "takes one name of a room"},
		{"rooms close duel-7", "DELETE /v1/rooms/duel-7", 0, "closed the room duel-7\n"},
		{"rooms close duel-7 --json", "DELETE /v1/rooms/duel-7", 0, "{}\n"},
		{"rooms close main", "DELETE /v1/rooms/main", 1, "parley: the room main ends with the server\n"},
		{"players", "GET /v1/players", 0, "main  3   ada·  relay/udp  198.51.100.7:5000  -    31.5ms  here   17\n"},
		{"players --room main --json", "GET /v1/rooms/main/players", 0, `{"players":[]}`},
		{"cluster status --json", "GET /v1/cluster", 0, `"cluster":"arena"`},
		{"cluster drain", `POST /v1/cluster/drain {}`, 0, "is draining"},
		{"cluster drain fra-1", `POST /v1/cluster/drain {"node":"fra-1"}`, 0, "the node fra-1 is draining, and ends when its players are elsewhere\n"},
		{"cluster drain fra-1 fra-2", "", 2, "takes the name of one node, or none"},
		{"cluster move duel-7 fra-2", `POST /v1/cluster/move {"room":"duel-7","node":"fra-2"}`, 0, "the node fra-2 makes the entries of the room duel-7\n"},
		{"cluster move duel-7", "", 2, "takes a room and a node"},
		{"cluster move No fra-2", "", 2, "is no name of a room"},
		{"kick main 3 --reason be-kind", `DELETE /v1/rooms/main/players/3 {"reason":"be-kind"}`, 0, "kicked player 3 from main\n"},
		{"kick main 999", `DELETE /v1/rooms/main/players/999 {}`, 3, "parley: there is no such player\n"},
		{"kick main ada", "", 2, `"ada" is not the ID of a player`},
		{"kick main", "", 2, "takes a room and the ID of a player"},
		{"ban 203.0.113.0/24 --reason spam", `POST /v1/bans {"address":"203.0.113.0/24","reason":"spam"}`, 0, "203.0.113.0/24  address  for ever  spam\n"},
		{"ban 2001:db8::1", `POST /v1/bans {"address":"2001:db8::1"}`, 0, ""},
		{"ban eve", `POST /v1/bans {"account":"eve"}`, 0, ""},
		{"ban --account list", `POST /v1/bans {"account":"list"}`, 0, ""},
		{"ban eve --account ann", "", 2, "leave out the other"},
		{"ban", "", 2, "takes one address, prefix or account"},
		{"ban 203.0.113.0/99", "", 2, `"203.0.113.0/99" is no address and no prefix`},
		{"ban 300.1.1.1", "", 2, "is no address and no prefix"},
		{"ban lift 2001:db8::/fifty", "", 2, "is no address and no prefix"},
		{"ban st.eve", `POST /v1/bans {"account":"st.eve"}`, 0, ""},
		{"ban --account 300.1.1.1", `POST /v1/bans {"account":"300.1.1.1"}`, 0, ""},
		{"ban eve --for 0s", "", 2, "--for is 0s"},
		{"ban list", "GET /v1/bans", 0, "eve             account  for ever  -\n"},
		{"ban lift eve", `DELETE /v1/bans {"account":"eve"}`, 0, "lifted the ban of eve\n"},
		{"say restart soon", `POST /v1/say {"text":"restart soon"}`, 0, "said to all rooms\n"},
		{"say --room main hi", `POST /v1/say {"room":"main","text":"hi"}`, 0, "said to main\n"},
		{"say", "", 2, "there is nothing to say"},
		{"ticket make --name ada --valid 5m", `POST /v1/tickets {"name":"ada","ttl":300}`, 0, "54aa\n"},
		{"ticket make --json", `POST /v1/tickets {"ttl":60}`, 0, `{"ticket":"54aa"`},
		{"ticket make --key-file x", "", 2, "leave out one"},
		{"match --mode duel --name ada", `POST /v1/match {"name":"ada","mode":"duel","players":2}`, 0, "room     match-x\nticket   54bb\nreplica  127.0.0.1:7000\n"},
		{"match --players 4 --json", `POST /v1/match {"players":4}`, 0, `{"room":"match-x","ticket":"54bb"`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			f := newFakeAPI(t, answers)
			got := f.run(strings.Fields(tt.args)...)
			if asked := strings.Join(f.asked, "\n"); asked != tt.asked {
				t.Errorf("it asks\n%s, want\n%s", asked, tt.asked)
			}
			if got.status != tt.status || !strings.Contains(got.out+got.err, tt.want) || tt.status != 0 && (got.out != "" || strings.Count(got.err, "\n") != 1) {
				t.Errorf("status %d, want %d; it prints\n%s%s, want\n%s", got.status, tt.status, got.out, got.err, tt.want)
			}
		})
	}
}

func TestABanThatEnds(t *testing.T) {
	f := newFakeAPI(t, map[string]string{"POST /v1/bans": `200 {"account":"eve","until":"2026-11-17T20:15:00Z"}`})
	got := f.run("ban", "eve", "--for", "1h")
	if got.status != 0 || !strings.Contains(got.out, "2026-11-17T") || len(f.asked) != 1 || !strings.Contains(f.asked[0], `"until":"2`) || !strings.HasSuffix(f.asked[0], `Z"}`) {
		t.Errorf("%+v; it asks %q", got, f.asked)
	}
}

func TestNobodyForAMatch(t *testing.T) {
	f := newFakeAPI(t, map[string]string{"POST /v1/match": "204"})
	if got := f.run("match"); got.status != exitNobody || !strings.Contains(got.err, "nobody else wants to play that now") {
		t.Errorf("%+v", got)
	}
}

// A server that cannot be reached, and a token that is not there or not right, get one sentence that says what to do.
func TestServersThatDoNotAnswer(t *testing.T) {
	f := newFakeAPI(t, map[string]string{"GET /v1/rooms": `200 {"rooms":[]}`})
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := silent.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	t.Cleanup(func() { silent.Close() })
	away := httptest.NewServer(http.RedirectHandler(f.url+"/v1/rooms", http.StatusTemporaryRedirect))
	t.Cleanup(away.Close)
	for _, tt := range []struct {
		name, server, token string
		status              int
		want                string
	}{
		{"nothing listens", "http://127.0.0.1:1", f.tokenFile, 1, `start one with "parley serve", or name another with --server`},
		{"it hangs up", "http://" + silent.Addr().String(), f.tokenFile, 1, "no server answers at http://127.0.0.1:"},
		{"it points elsewhere, which gets no token", away.URL, f.tokenFile, 1, "is no parley server"},
		{"no scheme", "127.0.0.1:8080", f.tokenFile, 2, "write it as http://127.0.0.1:8080"},
		{"a path", f.url + "/v1", f.tokenFile, 2, "is not an address of a server"},
		{"no token", f.url, filepath.Join(t.TempDir(), "none"), 1, "there is no token in"},
		{"an empty token", f.url, writeFile(t, "\n"), 1, "has no token in it"},
		{"a token of lines", f.url, writeFile(t, "a\nb\n"), 1, "has no token in it"},
		{"another token", f.url, writeFile(t, "other"), 1, "does not take the token in"},
		{"a token that is a folder", f.url, t.TempDir(), 1, "cannot read the operator's token"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.asked = nil
			got := runWith(builtIn(), strings.NewReader(""), []string{"rooms", "--server", tt.server, "--token-file", tt.token})
			if got.status != tt.status || got.out != "" || !strings.Contains(got.err, tt.want) || strings.Count(got.err, "\n") != 1 {
				t.Errorf("status %d: %q %q", got.status, got.out, got.err)
			}
			if strings.Contains(got.err, "secret-token") || strings.Contains(got.err, "other\n") {
				t.Errorf("the token is in %q", got.err)
			}
			if tt.server == away.URL && len(f.asked) != 0 {
				t.Error("it went to where the answer points")
			}
		})
	}
}
