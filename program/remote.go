package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	defaultServer = "http://127.0.0.1:8080" // where --web is
	defaultPlay   = "http://127.0.0.1:8000" // where --play is

	// callPatience is how long a server may take to answer a call. matchPatience is that of a call that waits for other players,
	// which the server ends after 30 s.
	callPatience  = 10 * time.Second
	matchPatience = 45 * time.Second

	// maxAnswer bounds what is read of an answer: 4,096 players are a megabyte.
	maxAnswer = 16 << 20
)

// remoteFlags say which server a command talks to, and how it is let in.
type remoteFlags struct {
	app               *app
	server, tokenFile string
	asJSON            bool
}

// register adds the flags of a command that talks to the operator's API.
func (f *remoteFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.server, "server", defaultServer, "the server, as it was told with --web")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", filepath.Join(defaultData, "operator.token"), "the file with the operator's token, which the server makes in its --data folder")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object")
}

// operator returns the operator's API.
func (f *remoteFlags) operator() (*remote, error) {
	r, err := f.app.newRemote("--server", f.server)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(f.tokenFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, failure{fmt.Errorf("there is no token in %s; name the operator.token of the server's --data folder with --token-file", f.tokenFile)}
	case err != nil:
		return nil, failure{fmt.Errorf("cannot read the operator's token: %w", err)}
	}
	if r.token = string(bytes.TrimSpace(text)); strings.ContainsAny(r.token, " \r\n\t") || r.token == "" || len(r.token) > 1024 {
		return nil, failure{fmt.Errorf("%s has no token in it; name the operator.token of the server's --data folder with --token-file", f.tokenFile)}
	}
	r.tokenFile = f.tokenFile
	return r, nil
}

// call makes one call of the operator's API.
func (f *remoteFlags) call(ctx context.Context, method, path string, body, answer any) error {
	r, err := f.operator()
	if err != nil {
		return err
	}
	return r.call(ctx, method, path, body, answer)
}

// remote is a server's API over HTTP.
type remote struct {
	app              *app
	flag, base       string
	token, tokenFile string
	client           http.Client
}

// newRemote returns the API at an address, which flag has named.
func (a *app) newRemote(flag, base string) (*remote, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, fmt.Errorf("%s %q is not an address of a server; write it as %s", flag, base, defaultServer)
	}
	r := &remote{app: a, flag: flag, base: u.Scheme + "://" + u.Host}
	// A token is for this server alone: it is not sent on to wherever an answer points.
	r.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r.client.Transport = &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}
	r.client.Timeout = callPatience
	return r, nil
}

// call sends body as JSON, unless it is nil, and reads the answer, unless that is nil. It returns errNothing if there is no such
// thing.
func (r *remote) call(ctx context.Context, method, path string, body, answer any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return failure{err}
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, r.base+path, bytes.NewReader(text))
	if err != nil {
		return failure{err}
	}
	request.Header.Set("Content-Type", "application/json")
	if r.token != "" {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return r.unanswered(ctx, err)
	}
	defer response.Body.Close()
	text, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return r.unanswered(ctx, err)
	}
	if response.StatusCode/100 != 2 {
		return r.refused(response.StatusCode, text)
	}
	if response.StatusCode == http.StatusNoContent || answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return failure{fmt.Errorf("what answers at %s is no parley server: its answer is not JSON; name another with %s", r.base, r.flag)}
	}
	return nil
}

// unanswered says why there is no answer.
func (r *remote) unanswered(ctx context.Context, err error) error {
	why := (net.Error)(nil)
	switch {
	case ctx.Err() != nil:
		return failure{errors.New("interrupted")}
	case errors.As(err, &why) && why.Timeout():
		return failure{fmt.Errorf("the server at %s did not answer in time", r.base)}
	}
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		err = inner.Err // it has the address in it
	}
	return failure{fmt.Errorf("no server answers at %s (%w); start one with \"%s serve\", or name another with %s", r.base, err, r.app.name, r.flag)}
}

// errNothing is a failure because there is no such thing: a room, a player, a ban.
type errNothing struct{ error }

// refused says what the server has against a call.
func (r *remote) refused(status int, text []byte) error {
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &said) != nil || said.Error == "" {
		return failure{fmt.Errorf("what answers at %s is no parley server, or one of another version: it answers with status %d; name another with %s", r.base, status, r.flag)}
	}
	switch status {
	case http.StatusBadRequest: // what the command line asks for cannot be: that is no failure of the server's
		return errors.New(said.Error)
	case http.StatusUnauthorized:
		return failure{fmt.Errorf("the server at %s does not take the token in %s; name the operator.token of its --data folder with --token-file", r.base, r.tokenFile)}
	case http.StatusNotFound:
		if r.token != "" && strings.Contains(said.Error, " /play/") { // there is no such thing as the API here
			return failure{fmt.Errorf("%s is where players find rooms and matches (--play); name the address of the server's --web with %s", r.base, r.flag)}
		}
		return failure{errNothing{errors.New(said.Error)}}
	}
	return failure{errors.New(said.Error)}
}
