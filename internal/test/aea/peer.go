package aeatest

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/acn"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// now is the clock of agents in tests.
var now = time.Now

// patience is how long an agent waits for a message.
const patience = 30 * time.Second

// A Peer is an agent at the other end of a connection: the Way of one agent.
type Peer struct {
	Address   string
	Dialogues *dialogue.Dialogues // the dialogues of the agent
	// Raw is the agent's connection, or nil if it has no permanent one.
	Raw net.Conn

	send func(testing.TB, wire.Envelope)
	next func(testing.TB) wire.Envelope
}

func newPeer(address string, raw net.Conn) *Peer {
	return &Peer{Address: address, Dialogues: dialogue.New(address, dialogue.DefaultLimits, now), Raw: raw}
}

// Send sends an envelope.
func (p *Peer) Send(tb testing.TB, e wire.Envelope) { tb.Helper(); p.send(tb, e) }

// Next waits for the next envelope to the only agent of the connection.
func (p *Peer) Next(tb testing.TB, _ string) wire.Envelope { tb.Helper(); return p.next(tb) }

// Hello begins a dialogue with Self and returns the envelope that it sent.
func (p *Peer) Hello(tb testing.TB, text string) wire.Envelope {
	tb.Helper()
	_, e, err := p.Dialogues.Start(protocol.Default.Specs[0], Self, Text(text))
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// Ask begins a dialogue with Self and returns the bytes of the reply, or the text of an error.
func (p *Peer) Ask(tb testing.TB, text string) string {
	tb.Helper()
	p.Send(tb, p.Hello(tb, text))
	turn, err := p.Dialogues.Receive(p.Next(tb, p.Address))
	if err != nil {
		tb.Fatal(err)
	}
	d, _ := turn.Content.(protocol.DefaultMessage)
	return string(d.Bytes) + d.Text
}

func dial(tb testing.TB, address string) net.Conn {
	tb.Helper()
	c, err := (&net.Dialer{}).DialContext(tb.Context(), "tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(now().Add(patience)); err != nil {
		tb.Fatal(err)
	}
	return c
}

// Frame writes a frame.
func Frame(tb testing.TB, c io.Writer, f wire.FrameFormat, content []byte) {
	tb.Helper()
	frame, err := f.Append(nil, content)
	if err == nil {
		_, err = c.Write(frame)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

func encoded(tb testing.TB, e wire.Envelope) []byte {
	tb.Helper()
	data, err := e.Encode()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func decoded(tb testing.TB, data []byte, err error) wire.Envelope {
	tb.Helper()
	var e wire.Envelope
	if err == nil {
		e, err = wire.DecodeEnvelope(data)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// TCP connects an agent over plain TCP.
func TCP(tb testing.TB, to, address string) *Peer {
	tb.Helper()
	c := dial(tb, to)
	Frame(tb, c, wire.TCP, []byte(address))
	p := newPeer(address, c)
	p.send = func(tb testing.TB, e wire.Envelope) { tb.Helper(); Frame(tb, c, wire.TCP, encoded(tb, e)) }
	p.next = func(tb testing.TB) wire.Envelope {
		tb.Helper()
		frame, err := wire.TCP.Read(c)
		return decoded(tb, frame, err)
	}
	return p
}

// Trusting downloads the certificate of a node, as agents do, and returns a configuration that trusts only that certificate.
func Trusting(tb testing.TB, to string) *tls.Config {
	tb.Helper()
	c := tls.Client(dial(tb, to), &tls.Config{InsecureSkipVerify: true})
	if err := c.HandshakeContext(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	shown := c.ConnectionState().PeerCertificates[0]
	_ = c.Close()
	pool := x509.NewCertPool()
	pool.AddCert(shown)
	return &tls.Config{
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
			return err
		},
	}
}

// Record returns the record with which the agent of a key registers at a node.
func Record(node string, key identity.Key, ledger identity.Ledger) acn.Record {
	public := key.Public(ledger)
	return acn.Record{
		Service: "acn", Ledger: string(ledger), Address: public.Address(), PublicKey: public.String(), PeerPublicKey: node,
		Signature: key.Sign(ledger, []byte(node)),
	}
}

// Connect connects over TLS and reads the proof of the node.
func Connect(tb testing.TB, to string) (c net.Conn, proof []byte) {
	tb.Helper()
	c = tls.Client(dial(tb, to), Trusting(tb, to))
	proof, err := wire.ACN.Read(c)
	if err != nil {
		tb.Fatal(err)
	}
	return c, proof
}

// Status reads a message that must be a status, and returns its code.
func Status(tb testing.TB, c io.Reader) acn.Code {
	tb.Helper()
	frame, err := wire.ACN.Read(c)
	if err != nil {
		tb.Fatal(err)
	}
	m, err := acn.Decode(frame)
	if err != nil || m.Kind != acn.Status {
		tb.Fatalf("got %+v, %v; want no error and Kind %v", m, err, acn.Status)
	}
	return m.Code
}

// Delegate connects an agent over TLS and registers it. The agent waits for the status of each envelope before it sends another one.
func Delegate(tb testing.TB, to, node string, key identity.Key, ledger identity.Ledger) *Peer {
	tb.Helper()
	c, _ := Connect(tb, to)
	record := Record(node, key, ledger)
	Frame(tb, c, wire.ACN, acn.Message{Kind: acn.Register, Record: &record}.Encode())
	if code := Status(tb, c); code != acn.Success {
		tb.Fatalf("registered with status %d, want %d", code, acn.Success)
	}
	p := newPeer(record.Address, c)
	var came []wire.Envelope
	// take reads messages until one is a successful status or, if status is false, an envelope.
	take := func(tb testing.TB, status bool) {
		tb.Helper()
		for {
			frame, err := wire.ACN.Read(c)
			if err != nil {
				tb.Fatal(err)
			}
			m, err := acn.Decode(frame)
			switch {
			case err == nil && m.Kind == acn.Status && status && m.Code == acn.Success:
				return
			case err != nil || m.Kind != acn.Envelope:
				tb.Fatalf("got %+v, %v", m, err)
			}
			came = append(came, decoded(tb, m.Envelope, nil))
			Frame(tb, c, wire.ACN, acn.Message{Kind: acn.Status}.Encode())
			if !status {
				return
			}
		}
	}
	p.send = func(tb testing.TB, e wire.Envelope) {
		tb.Helper()
		Frame(tb, c, wire.ACN, acn.Message{Kind: acn.Envelope, Envelope: encoded(tb, e)}.Encode())
		take(tb, true)
	}
	p.next = func(tb testing.TB) wire.Envelope {
		tb.Helper()
		if len(came) == 0 {
			take(tb, false)
		}
		e := came[0]
		came = came[1:]
		return e
	}
	return p
}

// HTTPS sends a request to a node and returns the body of the response. It ends the test unless the status is 200.
func HTTPS(tb testing.TB, config *tls.Config, to, token, method, path string, body []byte) []byte {
	tb.Helper()
	status, answer := TryHTTPS(tb, config, to, token, method, path, body)
	if status != http.StatusOK {
		tb.Fatalf("%s %s: %d, want %d", method, path, status, http.StatusOK)
	}
	return answer
}

// TryHTTPS is like HTTPS, but returns any status.
func TryHTTPS(tb testing.TB, config *tls.Config, to, token, method, path string, body []byte) (status int, answer []byte) {
	tb.Helper()
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(tb.Context(), method, "https://"+to+path, bytes.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Session-Id", token)
	response, err := (&http.Client{Transport: transport, Timeout: patience}).Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer response.Body.Close()
	if answer, err = io.ReadAll(response.Body); err != nil {
		tb.Fatal(err)
	}
	return response.StatusCode, answer
}

// Mailbox registers an agent over HTTPS.
func Mailbox(tb testing.TB, to, node string, key identity.Key, ledger identity.Ledger) *Peer {
	tb.Helper()
	config := Trusting(tb, to)
	record := Record(node, key, ledger)
	token := string(HTTPS(tb, config, to, "", http.MethodPost, "/register", record.Encode()))
	p := newPeer(record.Address, nil)
	p.send = func(tb testing.TB, e wire.Envelope) {
		tb.Helper()
		HTTPS(tb, config, to, token, http.MethodPost, "/send_envelope", encoded(tb, e))
	}
	p.next = func(tb testing.TB) wire.Envelope {
		tb.Helper()
		for deadline := now().Add(patience); ; {
			if body := HTTPS(tb, config, to, token, http.MethodGet, "/get_envelope", nil); len(body) > 0 {
				return decoded(tb, body, nil)
			}
			if now().After(deadline) {
				tb.Fatal("the mailbox stays empty")
			}
		}
	}
	return p
}
