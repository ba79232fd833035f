package mailbox_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/connections/mailbox"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/acn"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// A fakeClock is a clock that stands still until a test moves it.
type fakeClock struct {
	mu sync.Mutex
	at time.Time
}

func (h *fakeClock) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

func (h *fakeClock) move(by time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = h.at.Add(by)
}

func listening(t *testing.T) (*mailbox.Connection, *runtime.Runtime, *fakeClock) {
	t.Helper()
	h := &fakeClock{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	c, err := mailbox.Listen(t.Context(), ":0", aeatest.Node(t), mailbox.Bounds{}, h.now)
	if err != nil {
		t.Fatal(err)
	}
	return c, aeatest.Serve(t, runtime.Limits{}, c), h
}

func TestAgentsOfAllLedgers(t *testing.T) {
	t.Parallel()
	c, r, _ := listening(t)
	for i, ledger := range []identity.Ledger{identity.Fetchai, identity.Cosmos, identity.Ethereum} {
		a := aeatest.Mailbox(t, c.Address(), aeatest.NodeKey, aeatest.Numbered(t, 7+i), ledger)
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

// A client makes single requests to a mailbox.
type client struct {
	t      *testing.T
	to     string
	config *tls.Config
}

func (c client) try(token, method, path string, body []byte) (int, string) {
	c.t.Helper()
	status, answer := aeatest.TryHTTPS(c.t, c.config, c.to, token, method, path, body)
	return status, string(answer)
}

func TestStatusCodes(t *testing.T) {
	t.Parallel()
	connection, r, _ := listening(t)
	c := client{t, connection.Address(), aeatest.Trusting(t, connection.Address())}
	record := aeatest.Record(aeatest.NodeKey, aeatest.Numbered(t, 7), identity.Fetchai)
	forged := record
	forged.Signature = "x"
	_, token := c.try("", http.MethodPost, "/register", record.Encode())
	if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(token) {
		t.Errorf("token %q", token)
	}
	envelope := func(to, sender string) []byte {
		m, err := wire.Message{ID: 1, StarterRef: "a1", Content: aeatest.Text("x").Encode()}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		data, err := wire.Envelope{To: to, Sender: sender, Protocol: protocol.Default.Specs[0], Message: m}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, row := range []struct {
		name, token, method, path string
		body                      []byte
		want                      int
	}{
		{"proof", "", "GET", "/ssl_signature", nil, 200},
		{"another signature", "", "POST", "/register", forged.Encode(), 400},
		{"a record in a message", "", "POST", "/register", acn.Message{Kind: acn.Register, Record: &record}.Encode(), 400},
		{"nothing", "", "POST", "/register", nil, 400},
		{"too much", "", "POST", "/register", make([]byte, 9000), 400},
		{"no token", "", "GET", "/get_envelope", nil, 400},
		{"another token", strings.Repeat("0", 32), "GET", "/get_envelope", nil, 400},
		{"no token to send", "", "POST", "/send_envelope", envelope("gw", record.Address), 400},
		{"nothing there", token, "GET", "/get_envelope", nil, 200},
		{"to another agent", token, "POST", "/send_envelope", envelope("other", record.Address), 200},
		{"of another sender", token, "POST", "/send_envelope", envelope("gw", "other"), 400},
		{"no envelope", token, "POST", "/send_envelope", []byte("x"), 400},
		{"an envelope that is too long", token, "POST", "/send_envelope", make([]byte, wire.MaxEnvelope+1), 400},
		{"another method", token, "POST", "/get_envelope", nil, 405},
		{"another path", token, "GET", "/", nil, 404},
		{"end", token, "GET", "/unregister", nil, 200},
		{"ended", token, "GET", "/get_envelope", nil, 400},
	} {
		if status, _ := c.try(row.token, row.method, row.path, row.body); status != row.want {
			t.Errorf("%s: %d, want %d", row.name, status, row.want)
		}
	}
	if s := r.Status(); s.Connections[0].Refused != 7 || s.Unserved != 1 || s.Connections[0].Peers != 0 {
		t.Errorf("got %+v; want Connections[0].Refused 7, Unserved 1 and Connections[0].Peers 0", s)
	}
}

// TestMailIsKept checks that the mailbox keeps mail while an agent registers again, and drops it some time after the agent's last request.
func TestMailIsKept(t *testing.T) {
	t.Parallel()
	connection, r, clock := listening(t)
	c := client{t, connection.Address(), aeatest.Trusting(t, connection.Address())}
	record := aeatest.Record(aeatest.NodeKey, aeatest.Numbered(t, 7), identity.Fetchai)
	register := func() string {
		status, token := c.try("", http.MethodPost, "/register", record.Encode())
		if status != http.StatusOK {
			t.Fatalf("got %v, want %v", status, http.StatusOK)
		}
		return token
	}
	send := func() error {
		_, err := r.Start(wire.PublicID{}, protocol.Default.Specs[0], record.Address, aeatest.Text("mail"))
		return err
	}
	if err := send(); !errors.Is(err, runtime.ErrNoPeer) {
		t.Errorf("to an unregistered agent: %v, want %v", err, runtime.ErrNoPeer)
	}
	first := register()
	for range 1024 {
		if err := send(); err != nil {
			t.Fatal(err)
		}
	}
	if err := send(); !errors.Is(err, runtime.ErrFull) {
		t.Errorf("to a full mailbox: %v, want %v", err, runtime.ErrFull)
	}
	second := register()
	if status, _ := c.try(first, http.MethodGet, "/get_envelope", nil); status != http.StatusBadRequest {
		t.Errorf("an earlier token: %d, want %d", status, http.StatusBadRequest)
	}
	if status, body := c.try(second, http.MethodGet, "/get_envelope", nil); status != http.StatusOK || !strings.Contains(body, "mail") {
		t.Errorf("got %d, %q; want %v, a text that contains %q", status, body, http.StatusOK, "mail")
	}
	clock.move(9 * time.Minute)
	if status, body := c.try(second, http.MethodGet, "/get_envelope", nil); status != http.StatusOK || !strings.Contains(body, "mail") {
		t.Errorf("got %d, %q; want %v, a text that contains %q", status, body, http.StatusOK, "mail")
	}
	clock.move(10 * time.Minute)
	if err := send(); !errors.Is(err, runtime.ErrNoPeer) {
		t.Errorf("to an expired agent: %v, want %v", err, runtime.ErrNoPeer)
	}
	if s := r.Status().Connections[0]; s.Dropped != 1022+3 || s.Queued != 0 || s.Peers != 0 {
		t.Errorf("got %+v; want Dropped %v, Queued 0 and Peers 0", s, 1022+3)
	}
}

// TestRegistrationsAreBounded checks that each address may register 30 times a minute, and that sessions are not affected.
func TestRegistrationsAreBounded(t *testing.T) {
	t.Parallel()
	connection, _, _ := listening(t)
	a := aeatest.Mailbox(t, connection.Address(), aeatest.NodeKey, aeatest.Numbered(t, 9), identity.Fetchai)
	c := client{t, connection.Address(), aeatest.Trusting(t, connection.Address())}
	for i := range 31 {
		want := http.StatusBadRequest
		if i >= 29 { // the agent a has registered once
			want = http.StatusTooManyRequests
		}
		if status, _ := c.try("", http.MethodPost, "/register", nil); status != want {
			t.Errorf("registration %d: %d, want %d", i+1, status, want)
		}
	}
	if text := a.Ask(t, "hello"); text != "hello" {
		t.Errorf("got %q, want %q", text, "hello")
	}
}
