package client_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	mrp "github.com/uimgate/uimgate/internal/wire/mrp/client"
)

// private returns the key of a seed of 32 bytes that count upwards from a byte.
func private(from byte) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = from + byte(i)
	}
	return ed25519.NewKeyFromSeed(seed)
}

var (
	a, b       = private(0), private(0x20)
	keyA, keyB = wire.KeyOf(a), wire.KeyOf(b)
)

// A stub is a relay whose handlers the test supplies. It rejects requests whose signature is invalid or already used.
type stub struct {
	*httptest.Server
	mu    sync.Mutex
	seen  map[wire.Signature]bool
	times []string
}

// stubRelay serves handlers by the patterns of http.ServeMux.
func stubRelay(t *testing.T, handlers map[string]http.HandlerFunc) *stub {
	t.Helper()
	s := &stub{seen: map[wire.Signature]bool{}}
	mux := http.NewServeMux()
	for pattern, handle := range handlers {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // the client went away
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if r.Header.Get("Upgrade") == "" {
				if refused := s.verify(r, body); refused != nil {
					refuse(w, refused)
					return
				}
			}
			handle(w, r)
		})
	}
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *stub) verify(r *http.Request, body []byte) *wire.Error {
	auth, refused := wire.ReadAuth(r.Header)
	if refused != nil {
		return refused
	}
	if refused := auth.Verify(r.Method, r.RequestURI, wire.Sum(body)); refused != nil {
		return refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[auth.Signature] {
		return wire.Refuse(wire.ReplayDetected, "seen")
	}
	s.seen[auth.Signature] = true
	s.times = append(s.times, auth.Timestamp)
	return nil
}

func refuse(w http.ResponseWriter, refused *wire.Error) {
	w.WriteHeader(refused.HTTPStatus())
	_ = json.NewEncoder(w).Encode(wire.ErrorAnswer{Error: refused})
}

// says returns a handler that answers with a status and a body.
func says(status int, format string, args ...any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, format, args...)
	}
}

// client returns A's client at a relay.
func client(t *testing.T, s *stub, change ...func(*mrp.Options)) *mrp.Client {
	t.Helper()
	o := mrp.Options{Relay: s.URL, Key: a, Backoff: time.Millisecond, Reconnect: time.Millisecond}
	for _, f := range change {
		f(&o)
	}
	c, err := mrp.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// message returns the JSON of a message from B to A.
func message(id string, change func(m *wire.Message)) string {
	m := wire.Message{
		ID: id, Sender: keyB, Recipient: keyA, ContentType: wire.TypeJSON, Body: []byte(`{"text":"hi"}`), Status: wire.Sent,
		CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour),
	}
	if change != nil {
		change(&m)
	}
	text, err := m.AppendJSON(nil)
	if err != nil {
		panic(err)
	}
	return string(text)
}
