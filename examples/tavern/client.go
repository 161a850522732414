package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"parley/protocol/realm"
	"parley/protocol/realm/core"
)

// guest is where somebody goes, and as whom.
type guest struct {
	addr, print, name, password string
}

// dial connects to a tavern that has the right certificate.
func (g guest) dial(ctx context.Context) (*realm.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return realm.Dial(ctx, g.addr, realm.Config{Fingerprint: g.print})
}

// register makes an account.
func register(ctx context.Context, g guest, out io.Writer) error {
	c, err := g.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	code, err := c.Register(ctx, g.name, g.password)
	if err != nil {
		return err
	}
	if code != realm.RegisterOK {
		return fmt.Errorf("register %s: %v: %s", g.name, code, remedy[code])
	}
	fmt.Fprintln(out, "welcome,", g.name)
	return nil
}

// remedy is what a guest can do about a refusal. The rules are those of accounts.go.
var remedy = map[core.RegisterCode]string{
	core.RegisterUsedPseudo:      "the name is taken, choose another",
	core.RegisterInvalidPseudo:   "a name has 3 to 32 letters from a to z, digits, _ and -",
	core.RegisterInvalidPassword: "a password has 8 to 128 bytes",
}

// join logs in, says each line of in, and prints what is said to out. It ends when in does, or
// ctx, or the tavern.
func join(ctx context.Context, g guest, in io.Reader, out io.Writer) error {
	c, err := g.dial(ctx)
	if err != nil {
		return err
	}
	// Whatever ends it, the tavern is told, and Events ends.
	leave := func() { _ = c.Close(context.Background()) }
	defer leave()
	defer context.AfterFunc(ctx, leave)()

	code, err := c.Login(ctx, g.name, g.password)
	if err != nil {
		return err
	}
	if code != realm.LoginOK {
		return fmt.Errorf("log in as %s: %v", g.name, code)
	}
	go func() {
		defer leave()
		for lines := bufio.NewScanner(in); lines.Scan(); {
			if text := strings.TrimSpace(lines.Text()); text != "" && c.Say(text) != nil {
				return
			}
		}
	}()
	names := map[uint16]string{}
	for ev := range c.Events() {
		if ev.Kind == realm.EventMessage {
			show(out, names, ev.Message)
		}
	}
	if why := (realm.Close{}); errors.As(c.Err(), &why) && why.Reason == core.ReasonClosed {
		return nil // we left
	}
	return c.Err()
}

// show prints what happens. names has the guests who are here, by their entities.
func show(out io.Writer, names map[uint16]string, m *core.Message) {
	switch {
	case m.Kind == core.KindMetaAction && core.MetaCode(m.Code) == core.MetaPlayerJoined:
		names[m.ID] = clean(m.Name)
		fmt.Fprintln(out, "*", names[m.ID], "is here")
	case m.Kind == core.KindMetaAction:
		fmt.Fprintln(out, "*", names[m.ID], "has left")
		delete(names, m.ID)
	case m.Kind == core.KindChatReceive:
		fmt.Fprintf(out, "%s: %s\n", names[m.ID], clean(m.Text))
	}
}

// clean makes a stranger's text fit to be shown, without control characters.
func clean(text []byte) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, string(text))
}
