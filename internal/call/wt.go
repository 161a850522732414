//go:build !js

package call

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/webtransport-go"

	"parley/internal/way"
)

func dialWebTransport(ctx context.Context, t Target) (*Session, error) {
	about, err := ask(ctx, t)
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(t.Host)
	if about.WT.Port == 0 {
		return nil, errNoWebTransport
	}
	w, err := t.openWebTransport(ctx, net.JoinHostPort(host, strconv.Itoa(about.WT.Port)), about.pinned())
	if err != nil {
		return nil, err
	}
	s := &Session{target: t, local: addrOf(w.LocalAddr(), madeUp(WebTransport)), remote: madeUp(WebTransport), largest: way.Largest(madeUp(WebTransport).Addr())}
	if t.hasStream() {
		line, err := w.OpenStreamSync(ctx)
		if err == nil {
			_, err = line.Write(nil) // so that the server knows of the stream: it may be the first to speak
		}
		if err != nil {
			w.end()
			return nil, err
		}
		s.pipe = &wtPipe{line, w}
	}
	if t.Dialect != "realm" { // which is a stream alone
		m := &wtMessages{wtSession: w, beside: t.hasStream()}
		m.receiving, m.stop = context.WithCancel(context.Background())
		s.messages = m
	}
	return s, nil
}

// openWebTransport opens a connection with one session.
func (t *Target) openWebTransport(ctx context.Context, addr string, pinned [][]byte) (*wtSession, error) {
	secure := t.tls(pinned)
	secure.NextProtos = []string{http3.NextProtoH3}
	config := &quic.Config{EnableDatagrams: true, EnableStreamResetPartialDelivery: true, HandshakeIdleTimeout: t.Prompt, MaxIdleTimeout: quietTime, KeepAlivePeriod: keepTime, InitialPacketSize: packetBytes}
	conn, err := quic.DialAddr(ctx, addr, secure, config)
	if err != nil {
		return nil, nobody(err)
	}
	w := &wtSession{conn: conn, over: make(chan struct{})}
	opener, err := w.transport.NewClientConn(conn)
	if err == nil {
		var answer *http.Response
		if answer, w.Session, err = opener.Dial(ctx, "https://"+addr+t.path(), nil); err != nil && answer != nil {
			err = refused(answer)
		}
	}
	if err != nil {
		w.transport.Close()
		conn.CloseWithError(0, "")
		return nil, err
	}
	context.AfterFunc(w.Context(), func() { w.end() })
	return w, nil
}

// wtSession is a session, and the connection that it has for itself.
type wtSession struct {
	*webtransport.Session
	conn      *quic.Conn
	transport webtransport.Transport
	once      sync.Once
	over      chan struct{}
}

// end ends the session at once, and the connection when what was sent before has had the time to go out.
func (w *wtSession) end() (over <-chan struct{}) {
	w.once.Do(func() {
		go func() {
			defer close(w.over)
			_ = w.CloseWithError(0, "")
			grace := time.NewTimer(graceTime)
			defer grace.Stop()
			select {
			case <-w.conn.Context().Done():
			case <-grace.C:
			}
			w.transport.Close()
			_ = w.conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
		}()
	})
	return w.over
}

// errNoWebTransport is as good as the answer of a server that has WebSocket alone.
var errNoWebTransport = &Refused{Status: http.StatusNotFound, Text: "it has no WebTransport: write ws for wt"}

// nobody has the silence of a UDP port read like that of a TCP port.
func nobody(err error) error {
	var idle *quic.IdleTimeoutError
	var shake *quic.HandshakeTimeoutError
	if errors.As(err, &idle) || errors.As(err, &shake) {
		return &unreachable{err}
	}
	return err
}

// isCutOff reports whether a server has refused or closed a connection of QUIC, as one that is busy does.
func isCutOff(err error) bool {
	var transport *quic.TransportError
	if errors.As(err, &transport) {
		return transport.Remote && transport.ErrorCode == quic.ConnectionRefused
	}
	var application *quic.ApplicationError
	var reset *quic.StatelessResetError
	return errors.As(err, &application) && application.Remote || errors.As(err, &reset)
}

// wtMessages are the datagrams of a session.
type wtMessages struct {
	*wtSession
	receiving context.Context
	stop      context.CancelFunc
	beside    bool // of a stream, which ends the session
}

// Receive is that of Messages.
func (m *wtMessages) Receive() ([]byte, error) { return m.ReceiveDatagram(m.receiving) }

// Send is that of Messages. A datagram that is too large for the path is lost.
func (m *wtMessages) Send(b []byte) error {
	err := m.SendDatagram(b)
	var large *quic.DatagramTooLargeError
	if errors.As(err, &large) {
		return nil
	}
	return err
}

// Close is that of Messages.
func (m *wtMessages) Close() {
	m.stop()
	if !m.beside {
		<-m.end()
	}
}

// Cut is that of Messages.
func (m *wtMessages) Cut() {
	m.stop()
	if !m.beside {
		m.end()
	}
}

// wtPipe is a stream of WebTransport.
type wtPipe struct {
	*webtransport.Stream
	session *wtSession
}

// Read is that of Pipe. The end of the session without an error is that of the stream.
func (p *wtPipe) Read(b []byte) (int, error) {
	n, err := p.Stream.Read(b)
	var end *webtransport.SessionError
	if errors.As(err, &end) && end.Remote && end.ErrorCode == 0 {
		err = io.EOF
	}
	return n, err
}

// CloseWrite is that of Pipe.
func (p *wtPipe) CloseWrite() error { return p.Stream.Close() }

// Close is that of Pipe.
func (p *wtPipe) Close() error {
	p.session.end()
	return nil
}
