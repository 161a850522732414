//go:build !js

package call

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// about is what a server says of itself at /play/server, as far as it matters here.
type about struct {
	WT struct {
		Port   int      `json:"port"`
		Hashes []string `json:"hashes"`
	} `json:"wt"`
}

// ask asks a server for what a session of WebTransport needs: the port, and the SHA-256 of a certificate that it has signed itself. It asks
// over TLS first. Without TLS the answer is as good as the network that it comes through, as with ws.
func ask(ctx context.Context, t Target) (about, error) {
	a, err := askOver(ctx, t, "https")
	var plain tls.RecordHeaderError
	if errors.As(err, &plain) || errors.Is(err, http.ErrSchemeMismatch) {
		a, err = askOver(ctx, t, "http")
	}
	return a, err
}

func askOver(ctx context.Context, t Target, scheme string) (a about, err error) {
	client := t.http(nil, nil)
	defer client.CloseIdleConnections()
	prompt, cancel := t.promptly(ctx)
	defer cancel()
	request, err := http.NewRequestWithContext(prompt, http.MethodGet, scheme+"://"+t.Host+"/play/server", nil)
	if err != nil {
		return a, fmt.Errorf("call: %w", err)
	}
	answer, err := client.Do(request)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = &unreachable{err}
		}
		return a, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return a, refused(answer)
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAbout)).Decode(&a); err != nil {
		return a, fmt.Errorf("call: what answers at %s is no game server: %w", t.Host, err)
	}
	if len(a.WT.Hashes) > maxHashes {
		a.WT.Hashes = a.WT.Hashes[:maxHashes]
	}
	return a, nil
}

// pinned returns the hashes that the server has told, in hex or base64.
func (a *about) pinned() (list [][]byte) {
	for _, text := range a.WT.Hashes {
		b, err := hex.DecodeString(text)
		if err != nil {
			b, err = base64.StdEncoding.DecodeString(text)
		}
		if err == nil {
			list = append(list, b)
		}
	}
	return list
}
