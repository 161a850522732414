package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/arena"
	"parley/play/message"
	"parley/world"
)

// rows returns the rows of the table of a page that begins with a line.
func rows(t *testing.T, page, head string) (list [][]string) {
	t.Helper()
	_, rest, ok := strings.Cut(page, "\n"+head+"\n")
	if !ok {
		t.Fatalf("there is no table %q", head)
	}
	for i, line := range strings.Split(rest, "\n") {
		if !strings.HasPrefix(line, "|") {
			break
		}
		if i == 0 { // the line of dashes
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		list = append(list, cells)
	}
	return list
}

// TestGatewayPage holds docs/gateway.md against the code.
func TestGatewayPage(t *testing.T) {
	text := must(os.ReadFile(filepath.Join("..", "..", "docs", "gateway.md")))
	page := string(text)

	statuses := rows(t, page, "| status | why |")
	if len(statuses) != int(world.Malformed)+1 {
		t.Errorf("there are %d statuses", len(statuses))
	}
	for i, row := range statuses {
		if row[0] != fmt.Sprint(i) || i > int(world.Accepted) && row[1] != world.Reason(i).String() {
			t.Errorf("status %d is %q on the page, and %s", i, row, world.Reason(i))
		}
	}

	codes := map[string]bool{}
	for _, row := range rows(t, page, "| message | from | channel | SID or code | data |") {
		codes[row[3]] = true
	}
	for _, want := range []int{message.DuplexAct, message.DuplexSay, message.DuplexTerrain, message.DuplexAct + 128, message.DuplexSay + 128, message.DuplexTerrain + 128, message.DuplexRoster, message.DuplexRoster + 128, message.DuplexVias, message.DuplexVias + 128} {
		if !codes[fmt.Sprint(want)] {
			t.Errorf("the page is without the code %d", want)
		}
	}
	for _, sid := range []int{message.DuplexSaid, message.DuplexDone, message.DuplexMember, message.DuplexVia} {
		if !codes[fmt.Sprintf("−%d", -sid)] {
			t.Errorf("the page is without the SID %d", sid)
		}
	}

	layouts := map[string]string{}
	for _, row := range rows(t, page, "| first byte | to or from the server | mode | rest of the payload |") {
		layouts[row[1]+" "+row[0]] = row[3]
	}
	for what, want := range map[string]string{
		fmt.Sprint("to ", message.RelaySteer): "angle f32, norm f32", fmt.Sprint("to ", message.RelayAct): "action u16, parameters", fmt.Sprint("to ", message.RelaySay): "text",
		fmt.Sprint("from ", message.RelayEntities): "records", fmt.Sprint("from ", message.RelayDone): "entity u16, action u16, parameters",
		fmt.Sprint("from ", message.RelaySaid): "name size u8, name, text", fmt.Sprint("from ", message.RelayYou): "entity u16",
		fmt.Sprint("from ", message.RelayMembers): "[members](#members), one or more",
	} {
		if !strings.HasPrefix(layouts[what], want) {
			t.Errorf("relay: %s is %q on the page, want %q", what, layouts[what], want)
		}
	}
	if relayGoneTimes != 7 || relayGoneEvery != 4 || !strings.Contains(page, "**seven times**, every fourth tick") {
		t.Error("how often it is said that an entity is gone is not what the page says")
	}
	if chatRate != 5 || maxChat != 512 || maxRequests != 64 || chunksATick != 2 || chunksATickOfAll != 8 || terrainATickOfAll != 1<<20 || realmPredict != 10 || replicaBudget != 4096 || maxName != 64 {
		t.Error("a limit has changed: change the page too")
	}
	if maxHeld != 64 || holdTime != time.Second || mostBehind != 5*time.Second {
		t.Error("how long an input waits for the world is not what the page says")
	}
	if maxStampAhead != 8 || maxStamped != 32 || stampWindow != 1024 || !strings.Contains(page, "**8 ticks**") || !strings.Contains(page, "**32 inputs**") {
		t.Error("how many inputs with stamps wait, and for how long, is not what the page says")
	}
	if maxRoll != 480 || maxDeparted != 1024 || !strings.Contains(page, "at most 480 bytes of members") {
		t.Error("how many members a tick tells of is not what the page says")
	}
	for i, row := range rows(t, page, "| what | name | what it says |") {
		if row[0] != fmt.Sprint(i+1) || row[1] != message.MemberNews(i+1).String() {
			t.Errorf("news %d of members are %q on the page, and %v", i+1, row, message.MemberNews(i+1))
		}
	}
	checkArena(t, page)
}

// checkArena holds the tables of the arena against its schema.
func checkArena(t *testing.T, page string) {
	t.Helper()
	sim := must(world.New(arena.Game(), world.Config{}))
	for _, row := range rows(t, page, "| kind | number | fields after the body | realm attributes |") {
		var fields, attrs []string
		for _, k := range sim.Schema().Kinds {
			if k.Name != row[0] {
				continue
			}
			if row[1] != fmt.Sprint(k.Number) {
				t.Errorf("%s has the number %d", k.Name, k.Number)
			}
			for _, f := range k.Fields {
				if f.InBody {
					continue
				}
				fields, attrs = append(fields, f.Name+" "+f.Type.String()), append(attrs, fmt.Sprint(f.Attr))
			}
		}
		if got := strings.Join(fields, ", "); got != row[2] {
			t.Errorf("%s has the fields %q, and on the page %q", row[0], got, row[2])
		}
		if got := strings.Join(attrs, ", "); got != row[3] {
			t.Errorf("%s has the attributes %q, and on the page %q", row[0], got, row[3])
		}
	}
	for _, row := range rows(t, page, "| action | number | parameters |") {
		if a := sim.Schema().ActionNamed(row[0]); a == nil || row[1] != fmt.Sprint(a.Number) {
			t.Errorf("the action %q is not as on the page: %+v", row[0], a)
		}
	}
}
