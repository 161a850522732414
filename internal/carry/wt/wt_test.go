package wt_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/webtransport-go"

	"parley/internal/carry/wt"
	"parley/internal/patient"
)

// pinned trusts the server's certificate by its hash, as a browser does.
func (g *ground) pinned() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h3"}, VerifyConnection: func(s tls.ConnectionState) error {
		sum := sha256.Sum256(s.PeerCertificates[0].Raw)
		if !slices.Contains(g.own.Hashes(), hex.EncodeToString(sum[:])) {
			return errors.New("another certificate")
		}
		return nil
	}}
}

func quicConfig() *quic.Config {
	return &quic.Config{EnableDatagrams: true, EnableStreamResetPartialDelivery: true}
}

func (g *ground) dial(path string, header http.Header) (int, *webtransport.Session, error) {
	d := &webtransport.Transport{TLSClientConfig: g.pinned(), QUICConfig: quicConfig()}
	g.t.Cleanup(func() { d.Close() })
	ctx, cancel := context.WithTimeout(g.t.Context(), 2*time.Minute)
	defer cancel()
	res, s, err := d.Dial(ctx, fmt.Sprintf("https://%v%s", g.server.Addr(), path), header)
	if res == nil {
		return 0, s, err
	}
	return res.StatusCode, s, err
}

// honest returns a session whose datagrams come back. It comes again until it is let in.
func (g *ground) honest() *webtransport.Session {
	g.t.Helper()
	var s *webtransport.Session
	patient.Until(g.t, "an honest client plays", func() bool {
		var err error
		if _, s, err = g.dial("/wt/replica", nil); err != nil {
			return false
		}
		return g.echoes(s, 100) == nil
	})
	return s
}

// echoes sends a datagram until it comes back.
func (g *ground) echoes(s *webtransport.Session, size int) error {
	ctx, cancel := context.WithTimeout(g.t.Context(), 2*time.Minute)
	defer cancel()
	want := bytes.Repeat([]byte{byte(size)}, size)
	for {
		if err := s.SendDatagram(want); err != nil {
			return err
		}
		turn, over := context.WithTimeout(ctx, time.Second) // datagrams may be lost
		got, err := s.ReceiveDatagram(turn)
		over()
		if bytes.Equal(got, want) {
			return nil
		}
		if err != nil && (ctx.Err() != nil || turn.Err() == nil) {
			return err
		}
	}
}

// A session's datagrams go to the core and come back. One that is too large for the carrier is dropped, and the session goes on.
func TestDatagramsOverWebTransport(t *testing.T) {
	g := newGround(t, wt.Config{})
	_, s, err := g.dial("/wt/replica", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.SendDatagram(make([]byte, largest+1))
	for _, size := range []int{1, 500, largest} {
		if err := g.echoes(s, size); err != nil {
			t.Fatal(err)
		}
	}
	if st := g.hall.Stats(); st.Open != 1 || st.InLarge > 1 || st.In < 3 {
		t.Errorf("the counters are %+v", st)
	}
	s.CloseWithError(0, "")
	patient.Until(t, "the session is over", func() bool { return g.hall.Stats().Open == 0 })
}

// What is no dialect, and whose host or origin is not ours, has no session.
func TestWhoHasASession(t *testing.T) {
	g := newGround(t, wt.Config{May: func(r *http.Request) error {
		if r.Header.Get("Origin") == "https://evil.example" {
			return errors.New("foreign")
		}
		return nil
	}})
	for _, tt := range []struct {
		path   string
		header http.Header
		want   int
	}{{"/wt/nosuch", nil, 404}, {"/", nil, 404}, {"/wt/replica", http.Header{"Origin": {"https://evil.example"}}, 403}} {
		if status, _, err := g.dial(tt.path, tt.header); status != tt.want || err == nil {
			t.Errorf("%s %v: %d, %v; want %d", tt.path, tt.header, status, err, tt.want)
		}
	}
	if st := g.hall.Stats(); st.Opened != 0 {
		t.Errorf("sessions began: %+v", st)
	}
}

// Connections of an address that have no session are bounded, and when they are gone others are let in.
func TestConnectionsWithoutASessionAreBounded(t *testing.T) {
	g := newGround(t, wt.Config{SessionTime: time.Hour})
	var there []*quic.Conn
	for range 70 {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		c, err := quic.DialAddr(ctx, g.server.Addr().String(), g.pinned(), quicConfig())
		cancel()
		if err == nil {
			there = append(there, c)
		}
	}
	if st := g.server.Stats(); len(there) != 64 || st.Conns != 64 || st.Crowded < 6 || st.Hasty != 0 { // each packet of those that are refused counts
		t.Errorf("%d of 70 connections are let in; the counters are %+v", len(there), st)
	}
	for _, c := range there {
		c.CloseWithError(0, "")
	}
	g.honest()
}

// A connection without a session is closed in time, and one with a session is not.
func TestAConnectionWithoutASessionIsClosed(t *testing.T) {
	g := newGround(t, wt.Config{SessionTime: 200 * time.Millisecond})
	s := g.honest()
	late := g.server.Stats().Late // on a busy machine a session may have come too late
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		c, err := quic.DialAddr(ctx, g.server.Addr().String(), g.pinned(), quicConfig())
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseWithError(0, "")
	}
	patient.Until(t, "those without a session are closed", func() bool { return g.server.Stats().Late == late+3 })
	if err := s.Context().Err(); err != nil {
		t.Errorf("the session is over with them: %v", err)
	}
}

// The banned are refused before a handshake.
func TestTheBannedHaveNoConnection(t *testing.T) {
	g := newGround(t, wt.Config{Banned: func(netip.Addr) bool { return true }})
	if _, _, err := g.dial("/wt/replica", nil); err == nil {
		t.Error("a banned client is let in")
	}
	if st := g.server.Stats(); st.Banned == 0 || st.Conns != 0 {
		t.Errorf("the counters are %+v", st)
	}
}

// A page that knows the two hashes knows the certificate for at least five days, whatever day it was loaded; each is valid when it comes
// into use and as long as it is, and for at most 14 days in all.
func TestOwnCertificates(t *testing.T) {
	now := time.Now()
	own, err := wt.NewOwn(func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	type loaded struct {
		at     time.Time
		hashes []string
	}
	var pages []loaded
	seen := map[string]bool{}
	for range 24 * 4 {
		pages = append(pages, loaded{now, own.Hashes()})
		c, err := own.Certificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(c.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		if now.Before(leaf.NotBefore.Add(24*time.Hour)) || now.After(leaf.NotAfter.Add(-24*time.Hour)) || leaf.NotAfter.Sub(leaf.NotBefore) > 14*24*time.Hour {
			t.Fatalf("at %v a certificate is in use that is valid from %v to %v", now, leaf.NotBefore, leaf.NotAfter)
		}
		sum := sha256.Sum256(c.Certificate[0])
		hash := hex.EncodeToString(sum[:])
		seen[hash] = true
		for _, p := range pages {
			if now.Sub(p.at) < 5*24*time.Hour && !slices.Contains(p.hashes, hash) {
				t.Fatalf("a page that was loaded at %v does not know the certificate at %v", p.at, now)
			}
		}
		now = now.Add(6 * time.Hour)
	}
	if len(seen) != 5 {
		t.Errorf("%d certificates were in use in 24 days", len(seen))
	}
	now = now.AddDate(1, 0, 0) // the machine slept
	if c, err := own.Certificate(nil); err != nil {
		t.Error(err)
	} else if leaf, _ := x509.ParseCertificate(c.Certificate[0]); now.After(leaf.NotAfter) {
		t.Error("after a year the certificate is over")
	}
}
