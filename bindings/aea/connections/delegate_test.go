package connections_test

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	secp "github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"

	"github.com/uimgate/uimgate/bindings/aea/connections/delegate"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	aeavectors "github.com/uimgate/uimgate/internal/test/aea/vectors"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/acn"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
)

func delegateListening(t *testing.T, b delegate.Bounds) (*delegate.Connection, *runtime.Runtime) {
	t.Helper()
	c, err := delegate.Listen(t.Context(), ":0", aeatest.Node(t), b, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return c, aeatest.Serve(t, runtime.Limits{}, c)
}

// TestRegistrationsAreBounded checks that each address may register 30 times a minute, whatever its proofs, and that a connected agent
// is still served.
func TestRegistrationsAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Now() // the clock stands still
	c, err := delegate.Listen(t.Context(), ":0", aeatest.Node(t), delegate.Bounds{}, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	r := aeatest.Serve(t, runtime.Limits{}, c)
	a := aeatest.Delegate(t, c.Address(), aeatest.NodeKey, aeatest.Numbered(t, 9), identity.Fetchai)
	record := aeatest.Record(aeatest.NodeKey, aeatest.Numbered(t, 8), identity.Fetchai)
	record.Signature = a.Address // not a signature
	for i := range 31 {
		want := acn.InvalidProof
		if i >= 29 { // the agent a has registered once
			want = acn.Generic
		}
		conn, _ := aeatest.Connect(t, c.Address())
		aeatest.Frame(t, conn, wire.ACN, acn.Message{Kind: acn.Register, Record: &record}.Encode())
		if code := aeatest.Status(t, conn); code != want {
			t.Errorf("registration %d: status %d, want %d", i+1, code, want)
		}
		_ = conn.Close()
	}
	if text := a.Ask(t, "hello"); text != "hello" {
		t.Errorf("got %q, want %q", text, "hello")
	}
	if s := r.Status().Connections[0]; s.Refused != 31 || !strings.Contains(s.LastError, "too often") {
		t.Errorf("got %+v; want Refused 31 and LastError containing %q", s, "too often")
	}
}

// TestNodeProvesCertificate checks that the node signs the public key of its certificate, as a point, with its secp256k1 key.
func TestNodeProvesCertificate(t *testing.T) {
	t.Parallel()
	c, _ := delegateListening(t, delegate.Bounds{})
	conn, proof := aeatest.Connect(t, c.Address())
	state := conn.(*tls.Conn).ConnectionState()
	shown := state.PeerCertificates[0].PublicKey.(*ecdsa.PublicKey)
	point, err := shown.Bytes()
	if err != nil || shown.Curve.Params().Name != "P-256" || !state.PeerCertificates[0].IsCA || state.Version < tls.VersionTLS12 {
		t.Fatalf("got %v, %v", state, err)
	}
	signature, err := secp.ParseDERSignature(proof)
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := hex.DecodeString(aeatest.Node(t).PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	key, err := secp256k1.ParsePubKey(compressed)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(point); !signature.Verify(sum[:], key) {
		t.Error("the node's key did not sign the proof")
	}
}

func TestAgentsOfAllLedgers(t *testing.T) {
	t.Parallel()
	c, r := delegateListening(t, delegate.Bounds{})
	for i, ledger := range []identity.Ledger{identity.Fetchai, identity.Cosmos, identity.Ethereum} {
		a := aeatest.Delegate(t, c.Address(), aeatest.NodeKey, aeatest.Numbered(t, 7+i), ledger)
		for _, text := range []string{"one", "two"} {
			if message := a.Ask(t, text); message != text {
				t.Errorf("%s: %s, want %s", ledger, message, text)
			}
		}
	}
	if s := r.Status().Connections[0]; s.Received != 6 || s.Peers != 3 || s.Refused != 0 {
		t.Errorf("got %+v; want Received 6, Peers 3 and Refused 0", s)
	}
}

func TestRegistrationProof(t *testing.T) {
	t.Parallel()
	c, r := delegateListening(t, delegate.Bounds{})
	with := func(change func(*acn.Record)) []byte {
		record := aeatest.Record(aeatest.NodeKey, aeatest.Numbered(t, 7), identity.Fetchai)
		change(&record)
		return acn.Message{Kind: acn.Register, Record: &record}.Encode()
	}
	other := aeatest.Record(aeatest.NodeKey, aeatest.Numbered(t, 8), identity.Fetchai)
	for name, row := range map[string]struct {
		sent []byte
		want acn.Code
	}{
		"valid":                   {with(func(*acn.Record) {}), acn.Success},
		"an unknown ledger":       {with(func(r *acn.Record) { r.Ledger, r.PeerPublicKey = "solana", "x" }), acn.UnsupportedLedger},
		"another node":            {with(func(r *acn.Record) { r.PeerPublicKey, r.Address = other.PublicKey, "x" }), acn.WrongPublicKey},
		"another address":         {with(func(r *acn.Record) { r.Address, r.Signature = other.Address, "x" }), acn.WrongAgentAddress},
		"a signature of another":  {with(func(r *acn.Record) { r.Signature = other.Signature }), acn.InvalidProof},
		"no signature":            {with(func(r *acn.Record) { r.Signature = "" }), acn.InvalidProof},
		"the framework's example": {aeavectors.Vector(t, vectors, "acn/register"), acn.WrongPublicKey},
		"an envelope first":       {aeavectors.Vector(t, vectors, "acn/envelope"), acn.UnexpectedPayload},
		"bytes":                   {[]byte("GET / HTTP/1.1\r\n\r\n"), acn.Undecodable},
		"a text that is too long": {with(func(r *acn.Record) { r.Service = strings.Repeat("x", 2000) }), acn.Undecodable},
	} {
		conn, _ := aeatest.Connect(t, c.Address())
		aeatest.Frame(t, conn, wire.ACN, row.sent)
		if code := aeatest.Status(t, conn); code != row.want {
			t.Errorf("%s: status %d, want %d", name, code, row.want)
		}
		if row.want != acn.Success {
			if _, err := wire.ACN.Read(conn); err == nil {
				t.Errorf("%s: the connection stays open", name)
			}
		}
	}
	conn, _ := aeatest.Connect(t, c.Address())
	if _, err := conn.Write([]byte{0, 0x30, 0, 0, 'x'}); err != nil { // announces 3 MiB, which the gateway does not wait for
		t.Fatal(err)
	}
	if _, err := conn.Write(make([]byte, 9000)); err == nil {
		closed(t, "a long message", conn)
	}
	if s := r.Status().Connections[0]; s.Refused != 10 || s.Received != 0 {
		t.Errorf("got %+v; want Refused 10 and Received 0", s)
	}
}

// TestEnvelopeStatus checks that the gateway acknowledges every readable envelope with success, even if it drops the envelope.
func TestEnvelopeStatus(t *testing.T) {
	t.Parallel()
	c, r := delegateListening(t, delegate.Bounds{})
	a := aeatest.Delegate(t, c.Address(), aeatest.NodeKey, aeatest.Numbered(t, 7), identity.Fetchai)
	hello := a.Hello(t, "x")
	envelope := func(change func(*wire.Envelope)) []byte {
		e := hello
		change(&e)
		data, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return acn.Message{Kind: acn.Envelope, Envelope: data}.Encode()
	}
	record := aeatest.Record(aeatest.NodeKey, aeatest.Numbered(t, 7), identity.Fetchai)
	for _, row := range []struct {
		name string
		sent []byte
		want acn.Code
	}{
		{"to another agent", envelope(func(e *wire.Envelope) { e.To = "other" }), acn.Success},
		{"of another sender", envelope(func(e *wire.Envelope) { e.Sender = "other" }), acn.WrongAgentAddress},
		{"the framework's example", aeavectors.Vector(t, vectors, "acn/envelope"), acn.WrongAgentAddress},
		{"no envelope", acn.Message{Kind: acn.Envelope, Envelope: []byte("x")}.Encode(), acn.Undecodable},
		{"no message", []byte("x"), acn.Undecodable},
		{"registered twice", acn.Message{Kind: acn.Register, Record: &record}.Encode(), acn.UnexpectedPayload},
		{"who is", acn.Message{Kind: acn.LookupRequest, Address: "other"}.Encode(), acn.UnknownAgentAddress},
	} {
		aeatest.Frame(t, a.Raw, wire.ACN, row.sent)
		if code := aeatest.Status(t, a.Raw); code != row.want {
			t.Errorf("%s: status %d, want %d", row.name, code, row.want)
		}
	}
	if _, err := a.Raw.Write(make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	if code := aeatest.Status(t, a.Raw); code != acn.Undecodable {
		t.Errorf("an empty frame: status %d, want %d", code, acn.Undecodable)
	}
	if _, err := a.Raw.Write(append([]byte{0, 0x30, 0, 1}, make([]byte, 0x300001)...)); err != nil {
		t.Fatal(err)
	}
	if code := aeatest.Status(t, a.Raw); code != acn.Undecodable {
		t.Errorf("a long frame: status %d, want %d", code, acn.Undecodable)
	}
	aeatest.Frame(t, a.Raw, wire.ACN, acn.Message{Kind: acn.Status}.Encode()) // acknowledges nothing
	if text := a.Ask(t, "still there"); text != "still there" {
		t.Errorf("got %q, want %q", text, "still there")
	}
	if s := r.Status(); s.Connections[0].Refused != 7 || s.Unserved != 1 {
		t.Errorf("got %+v; want Connections[0].Refused 7 and Unserved 1", s)
	}
}

// TestOneEnvelopeAtATime checks that the gateway sends the second reply after the agent has acknowledged the first, and that statuses do
// not wait.
func TestOneEnvelopeAtATime(t *testing.T) {
	t.Parallel()
	c, r := delegateListening(t, delegate.Bounds{})
	a := aeatest.Delegate(t, c.Address(), aeatest.NodeKey, aeatest.Numbered(t, 7), identity.Fetchai)
	read := func() acn.Message {
		t.Helper()
		frame, err := wire.ACN.Read(a.Raw)
		if err != nil {
			t.Fatal(err)
		}
		m, err := acn.Decode(frame)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	const asked = 5
	for range asked {
		e := a.Hello(t, "x")
		data, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		aeatest.Frame(t, a.Raw, wire.ACN, acn.Message{Kind: acn.Envelope, Envelope: data}.Encode())
	}
	statuses, answers := 0, 0
	for statuses < asked || answers == 0 {
		if read().Kind == acn.Status {
			statuses++
		} else {
			answers++
		}
	}
	if answers != 1 {
		t.Fatalf("got %d envelopes before the first acknowledgement, want 1", answers)
	}
	aeatest.Frame(t, a.Raw, wire.ACN, acn.Message{Kind: acn.Status, Code: acn.Generic}.Encode())
	for ; answers < asked; answers++ {
		if m := read(); m.Kind != acn.Envelope {
			t.Fatalf("got %+v, want Kind %v", m, acn.Envelope)
		}
		aeatest.Frame(t, a.Raw, wire.ACN, acn.Message{Kind: acn.Status}.Encode())
	}
	if text := a.Ask(t, "last"); text != "last" {
		t.Errorf("got %q, want %q", text, "last")
	}
	if s := r.Status().Connections[0]; s.Dropped != 1 {
		t.Errorf("got %+v, want Dropped 1", s)
	}
}

// TestStalledAgents checks that the gateway disconnects agents that stall, and that they do not delay other agents.
func TestStalledAgents(t *testing.T) {
	t.Parallel()
	strict, _ := delegateListening(t, delegate.Bounds{Greeting: 50 * time.Millisecond})
	silent, err := net.Dial("tcp", strict.Address()) // never starts TLS
	if err != nil {
		t.Fatal(err)
	}
	closed(t, "silent", silent)

	c, r := delegateListening(t, delegate.Bounds{Greeting: 3 * time.Second, Frame: 500 * time.Millisecond, Write: 500 * time.Millisecond})
	never, _ := aeatest.Connect(t, c.Address()) // never registers
	half := aeatest.Delegate(t, c.Address(), aeatest.NodeKey, aeatest.Numbered(t, 7), identity.Fetchai)
	if _, err := half.Raw.Write([]byte{0, 0, 1, 0, 'x'}); err != nil {
		t.Fatal(err)
	}
	quiet := aeatest.Delegate(t, c.Address(), aeatest.NodeKey, aeatest.Numbered(t, 8), identity.Fetchai) // never acknowledges
	if _, err := r.Start(wire.PublicID{}, aeatest.DefaultSpec, quiet.Address, aeatest.Text("x")); err != nil {
		t.Fatal(err)
	}
	if text := aeatest.Delegate(t, c.Address(), aeatest.NodeKey, aeatest.Numbered(t, 9), identity.Fetchai).Ask(t, "hello"); text != "hello" {
		t.Errorf("got %q, want %q", text, "hello")
	}
	closed(t, "half a frame", half.Raw)
	closed(t, "never acknowledges", quiet.Raw)
	closed(t, "never registers", never)
	if s := r.Status().Connections[0]; s.Queued != 1 || s.Dropped != 0 {
		t.Errorf("got %+v; want Queued 1 and Dropped 0", s)
	}
}

// TestReturningAgent checks that an agent that connects again gets its unacknowledged envelope once more, and then the envelopes queued
// in the meantime.
func TestReturningAgent(t *testing.T) {
	t.Parallel()
	c, r := delegateListening(t, delegate.Bounds{})
	connect := func() *aeatest.Peer {
		t.Helper()
		return aeatest.Delegate(t, c.Address(), aeatest.NodeKey, aeatest.Numbered(t, 7), identity.Fetchai)
	}
	// unacknowledged returns the next envelope without acknowledging it. With leaves it closes the connection.
	unacknowledged := func(a *aeatest.Peer, leaves bool) string {
		t.Helper()
		frame, err := wire.ACN.Read(a.Raw)
		if err != nil {
			t.Fatal(err)
		}
		if leaves {
			a.Raw.Close()
		}
		return string(frame)
	}
	send := func(to, text string) {
		t.Helper()
		_, err := r.Start(wire.PublicID{}, aeatest.DefaultSpec, to, aeatest.Text(text))
		if err != nil {
			t.Fatal(err)
		}
	}
	first := connect()
	for _, text := range []string{"one", "two", "three"} {
		send(first.Address, text)
	}
	if got := unacknowledged(first, false); !strings.Contains(got, "one") {
		t.Errorf("got %q, want a text that contains %q", got, "one")
	}
	second := connect() // while the first connection is open
	closed(t, "the first connection", first.Raw)
	if got := unacknowledged(second, true); !strings.Contains(got, "one") {
		t.Errorf("got %q, want a text that contains %q", got, "one")
	}
	send(first.Address, "four") // the gateway may not have noticed yet that the agent left
	third := connect()
	for _, text := range []string{"two", "three", "four"} {
		if e := third.Next(t, ""); !strings.Contains(string(e.Message), text) {
			t.Errorf("%q, want %s", e.Message, text)
		}
	}
	if message := third.Ask(t, "hello"); message != "hello" {
		t.Errorf("got %q, want %q", message, "hello")
	}
	if s := r.Status().Connections[0]; s.Dropped != 1 || s.Peers != 1 {
		t.Errorf("got %+v; want Dropped 1 and Peers 1", s)
	}
}

// closed fails the test unless the gateway closes a connection.
func closed(t *testing.T, name string, conn net.Conn) {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s: the connection stays open", name)
	}
}
