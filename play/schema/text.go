package schema

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Text returns the description for people: a table for each kind and each action.
func (d *Description) Text() string {
	var b strings.Builder
	name := d.Game
	if name == "" {
		name = "a game without a name"
	}
	if d.Version != "" {
		name += " " + d.Version
	}
	fmt.Fprintf(&b, "%s, fingerprint %s: %s, %s\n", name, d.Fingerprint, several(len(d.Kinds), "kind"), several(len(d.Actions), "action"))
	for i := range d.Kinds {
		d.Kinds[i].text(&b)
	}
	for i := range d.Actions {
		d.Actions[i].text(&b)
	}
	// A table has blanks behind its shorter lines.
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// several writes how many there are of a thing.
func several(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func (k *KindDescription) text(b *strings.Builder) {
	fmt.Fprintf(b, "\nkind %d: %s. realm type %d, replica link %d. At most %d entities", k.Number, k.Name, k.RealmType, k.ReplicaLink, k.Cap)
	if k.Body {
		fmt.Fprintf(b, " that move by up to %v a tick", k.MaxSpeed)
	}
	fmt.Fprintf(b, ". A record of up to %s\n", several(k.RecordBytes, "byte"))
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	line(t, "field", "type", "travels as", "replica", "realm", "notes")
	for i := range k.Fields {
		f := &k.Fields[i]
		realm := "-" // as the document has it
		if f.Realm != nil {
			realm = fmt.Sprint(f.Realm.Attribute)
		}
		line(t, f.Name, f.Type, f.Wire, fmt.Sprint(f.Replica.Variable), realm, f.notes())
	}
	t.Flush()
}

func (a *ActionDescription) text(b *strings.Builder) {
	fmt.Fprintf(b, "\naction %d: %s\n", a.Number, a.Name)
	if len(a.Fields) == 0 {
		return
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	line(t, "parameter", "type", "travels as", "notes")
	for i := range a.Fields {
		f := &a.Fields[i]
		line(t, f.Name, f.Type, f.Wire, f.notes())
	}
	t.Flush()
}

// line writes a row of a table.
func line(t *tabwriter.Writer, cells ...string) { fmt.Fprintln(t, "  "+strings.Join(cells, "\t")) }

func (f *FieldDescription) notes() string {
	var notes []string
	if f.Body {
		notes = append(notes, "body")
	}
	if f.MaxBytes > 0 {
		notes = append(notes, fmt.Sprintf("at most %s", several(f.MaxBytes, "byte")))
	}
	if q := f.Quantum; q != nil {
		note := fmt.Sprintf("steps of %v from %d to %d", q.Step, q.Low, q.High)
		if q.Around {
			note = fmt.Sprintf("%d directions from %d", q.High-q.Low+1, q.Low)
		}
		notes = append(notes, note)
	}
	if f.Countdown {
		notes = append(notes, "countdown")
	}
	if f.Replica != nil && f.Replica.Name != f.Name {
		notes = append(notes, fmt.Sprintf("in replica's %s", f.Replica.Name))
	}
	if f.Realm != nil && f.Realm.NeedsType {
		notes = append(notes, "in realm with the entity's type")
	}
	return strings.Join(notes, ", ")
}
