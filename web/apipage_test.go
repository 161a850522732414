package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
)

const apiPage = "../docs/api.md"

// pageOfCalls writes the calls as docs/api.md has them, each with an example that the API itself has answered.
func pageOfCalls(h http.Handler) string {
	var b strings.Builder
	for i := range calls {
		c := &calls[i]
		fmt.Fprintf(&b, "### %s %s\n\n%s\n\n", c.method, c.path, c.what)
		if c.body != reflect.TypeFor[none]() {
			b.WriteString("| field of the request | |\n| --- | --- |\n")
			for _, f := range fieldsOf(c.body) {
				need := ""
				if f.required {
					need = "required: "
				}
				fmt.Fprintf(&b, "| `%s` | %s%s |\n", f.name, need, f.doc)
			}
			b.WriteString("\n")
		}
		q := c.right()
		fmt.Fprintf(&b, "```http\n%s %s\n", q.method, q.path)
		if q.body != "" {
			fmt.Fprintf(&b, "\n%s\n", indented([]byte(q.body)))
		}
		switch {
		case c.path == "/v1/live":
			fmt.Fprintf(&b, "\nHTTP/1.1 200 OK\n\n%s", bytes.TrimSuffix(frame("live", exampleLive), []byte("\n")))
		case c.stream != nil:
			fmt.Fprintf(&b, "\nHTTP/1.1 200 OK\n\n%s%s", frame("ended", Ending{"duel-7", "ada wins", 900, then}), bytes.TrimSuffix(frame("log", newFake().lines[0]), []byte("\n")))
		case c.answer == reflect.TypeFor[map[string]any](): // the document itself, which is long
			b.WriteString("\nHTTP/1.1 200 OK\n")
		default:
			w := q.send(h)
			fmt.Fprintf(&b, "\nHTTP/1.1 %d %s\n", w.Code, http.StatusText(w.Code))
			if w.Body.Len() > 0 {
				fmt.Fprintf(&b, "\n%s\n", indented(w.Body.Bytes()))
			}
		}
		b.WriteString("```\n\n")
		var own []string
		for status := 200; status < 600; status++ {
			if text, ok := c.also[status]; ok {
				own = append(own, fmt.Sprintf("%d: %s.", status, text))
			}
			if text, ok := c.refusals[status]; ok {
				own = append(own, fmt.Sprintf("%d: %s.", status, text))
			}
		}
		if own != nil {
			b.WriteString(strings.Join(own, " ") + "\n\n")
		}
	}
	return b.String()
}

// exampleLive is what changed in a second.
var exampleLive = Live{
	Time: then, Players: 1, Rooms: 2, Point: Point{Time: then, Players: 1, P50: 0.2, P99: 0.25, Rates: Rates{Ticks: 20, BytesOut: 1800}},
	RoomList: []Room{}, RoomsGone: []string{}, People: []LivePlayer{}, Numbers: []LiveNumbers{{Key: 7, RTT: 31.5, Loss: 0.5, In: 320, Out: 1800}}, Gone: []uint32{6}, Log: []LogLine{},
}

// pageOfFields writes what the fields of answers and events mean.
func pageOfFields() string {
	var b strings.Builder
	for _, t := range []struct {
		name string
		typ  reflect.Type
	}{
		{"A server", reflect.TypeFor[Server]()}, {"An address", reflect.TypeFor[Address]()}, {"A room", reflect.TypeFor[Room]()}, {"A player", reflect.TypeFor[Player]()}, {"A ban", reflect.TypeFor[Ban]()},
		{"A ticket", reflect.TypeFor[Ticket]()}, {"A match", reflect.TypeFor[Match]()}, {"A line of the log", reflect.TypeFor[LogLine]()},
		{"The event state", reflect.TypeFor[State]()}, {"Rates of the event state", reflect.TypeFor[Rates]()}, {"A point of the history", reflect.TypeFor[Point]()}, {"The event live", reflect.TypeFor[Live]()}, {"A player in the event live", reflect.TypeFor[LivePlayer]()}, {"A map", reflect.TypeFor[Map]()}, {"A body of a map", reflect.TypeFor[MapBody]()}, {"A counter", reflect.TypeFor[Counter]()},
		{"The event ended", reflect.TypeFor[Ending]()}, {"The event lost", reflect.TypeFor[Lost]()},
	} {
		fmt.Fprintf(&b, "| %s | |\n| --- | --- |\n", t.name)
		for _, f := range fieldsOf(t.typ) {
			fmt.Fprintf(&b, "| `%s` | %s |\n", f.name, f.doc)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func indented(text []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(text), "", "  "); err != nil {
		panic(err)
	}
	return b.String()
}

// TestThePageOfTheAPI holds docs/api.md against the table of calls. PARLEY_UPDATE=1 writes its calls and fields anew.
func TestThePageOfTheAPI(t *testing.T) {
	text, err := os.ReadFile(apiPage)
	if err != nil {
		t.Fatal(err)
	}
	const callsHead, fieldsHead = "\n## Calls\n\n", "## Fields of answers\n\n"
	head, _, ok := strings.Cut(string(text), callsHead)
	if !ok {
		t.Fatal("docs/api.md has no calls")
	}
	want := head + callsHead + pageOfCalls(Handler(operated(newFake()))) + fieldsHead + strings.TrimSuffix(pageOfFields(), "\n")
	if string(text) == want {
		return
	}
	if os.Getenv("PARLEY_UPDATE") == "" {
		t.Fatal("docs/api.md is not as the table of calls has it: PARLEY_UPDATE=1 go test ./web -run TestThePageOfTheAPI writes it")
	}
	if err := os.WriteFile(apiPage, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
