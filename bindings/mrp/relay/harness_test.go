package relay_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/sqlmail"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// A clock advances when a test advances it, and by a microsecond each time it is read.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Microsecond)
	return c.now
}

// A host is a relay and its server.
type host struct {
	*testing.T
	relay *relay.Relay
	URL   string
	clock *clock // nil if the database has its own clock
	stop  func() // stops the relay and its server once
	state *sqlmail.Store
	place string
}

// onBoth runs a test on both engines.
func onBoth(t *testing.T, test func(*host), change ...func(*relay.Options)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(newHost(t, "", change...))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(newHost(t, postgres(t), change...))
	})
}

// postgres returns a new PostgreSQL database for a relay.
func postgres(t *testing.T) string {
	t.Helper()
	c := pgtest.Start(t)
	template, err := unused()
	if err != nil {
		t.Fatal(err)
	}
	return c.Copy(t, template)
}

// unused returns the database that postgres copies, because creating the tables takes longer than most tests.
var unused = sync.OnceValues(func() (string, error) {
	ctx := context.Background()
	c, err := pgtest.Shared()
	if err != nil {
		return "", err
	}
	name, err := c.CreateDatabase(ctx, "")
	if err != nil {
		return "", err
	}
	s, err := sqlstore.Open(ctx, c.DSN(name), sqlstore.Options{Now: time.Now})
	if err != nil {
		return "", err
	}
	return c.DSN(name), s.Close()
})

// newHost starts a relay on the database at place, or on a new SQLite database if place is empty.
func newHost(t *testing.T, place string, change ...func(*relay.Options)) *host {
	t.Helper()
	h := &host{T: t, place: place}
	now := time.Now
	if place == "" {
		h.place = filepath.Join(t.TempDir(), "state.db")
		sqlitetest.Empty.Copy(t, h.place)
		h.clock = &clock{now: time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)}
		now = h.clock.Now
	}
	h.start(now, filepath.Join(t.TempDir(), "blobs"), change)
	t.Cleanup(h.stop)
	return h
}

func (h *host) start(now func() time.Time, blobs string, change []func(*relay.Options)) {
	h.Helper()
	db, err := sqlstore.Open(h.Context(), h.place, sqlstore.Options{Now: now})
	h.must(err)
	h.state = sqlmail.New(db, sqlmail.Options{MaxAgents: 10_000})
	o := relay.Options{Store: h.state, Blobs: blobs, Now: db.Now, Version: "test", Shared: h.clock == nil}
	for _, f := range change {
		f(&o)
	}
	h.relay, err = relay.New(o)
	h.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { h.relay.Run(ctx) })
	server := httptest.NewServer(h.relay)
	h.URL = server.URL
	h.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		server.Close()
		if err := db.Close(); err != nil {
			h.Error(err)
		}
	})
}

func (h *host) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// pass advances the clock. Only relays on SQLite use this clock.
func (h *host) pass(d time.Duration) {
	h.clock.mu.Lock()
	defer h.clock.mu.Unlock()
	h.clock.now = h.clock.now.Add(d)
}

func (h *host) now() time.Time { return h.state.Now() }

// An agent has a key, and signs with the time of its relay.
type agent struct {
	*host
	private ed25519.PrivateKey
	last    time.Time
}

func (h *host) agent() *agent {
	h.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	h.must(err)
	return &agent{host: h, private: private}
}

func (a *agent) key() wire.Key { return wire.KeyOf(a.private) }

// at returns a time that no earlier request has used.
func (a *agent) at() time.Time {
	now := a.now()
	if !now.After(a.last) {
		now = a.last.Add(time.Nanosecond)
	}
	a.last = now
	return now
}

// An answer is a response of the relay.
type answer struct {
	Status int
	Header http.Header
	Raw    []byte

	wire.Profile
	Messages   []wire.Message    `json:"messages"`
	Agents     []wire.Agent      `json:"agents"`
	Tags       []json.RawMessage `json:"-"`
	HasMore    bool              `json:"has_more"`
	NextCursor *string           `json:"next_cursor"`
	MessageID  string            `json:"message_id"`
	State      string            `json:"-"`
	BlobID     string            `json:"blob_id"`
	Hash       string            `json:"hash"`
	Size       int64             `json:"size"`
	Error      *wire.Error       `json:"error"`
}

func (a answer) code() string {
	if a.Error == nil {
		return ""
	}
	return string(a.Error.Code)
}

// do sends a signed request.
func (a *agent) do(method, target, body string, header ...string) answer {
	a.Helper()
	r := a.request(method, target, body)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return a.sent(r)
}

// request signs a request.
func (a *agent) request(method, target, body string) *http.Request {
	a.Helper()
	r := a.host.request(method, target, body)
	wire.Sign(r.Header, a.private, a.at(), method, target, wire.Sum([]byte(body)))
	return r
}

func (h *host) request(method, target, body string) *http.Request {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), method, h.URL+target, bytes.NewReader([]byte(body)))
	h.must(err)
	return r
}

func (h *host) sent(r *http.Request) answer {
	h.Helper()
	got, err := http.DefaultClient.Do(r)
	h.must(err)
	defer got.Body.Close()
	raw, err := io.ReadAll(got.Body)
	h.must(err)
	a := answer{Status: got.StatusCode, Header: got.Header, Raw: raw}
	if got.Header.Get("Content-Type") == "application/json" && len(raw) > 0 {
		h.must(json.Unmarshal(raw, &a))
	}
	if got.Header.Get("X-Request-ID") == "" || a.Error != nil && a.Error.RequestID != got.Header.Get("X-Request-ID") {
		h.Errorf("%s %s: no request id: %s", r.Method, r.URL.Path, raw)
	}
	return a
}

// known registers the agent at its relay.
func (a *agent) known() *agent {
	a.Helper()
	a.wants(http.StatusOK, "", a.do("GET", "/v1/agents/"+a.key().String(), ""))
	return a
}

// wants reports an error unless the response has the status and the code.
func (h *host) wants(status int, code string, got answer) answer {
	h.Helper()
	if got.Status != status || got.code() != code {
		h.Errorf("%d %.300s, want %d %s", got.Status, got.Raw, status, code)
	}
	return got
}

// send sends a message with a body and further members, and returns its id.
func (a *agent) send(to *agent, body string, members ...string) string {
	a.Helper()
	return a.wants(http.StatusAccepted, "", a.do("POST", "/v1/messages", message(to.key(), body, members...))).MessageID
}

func message(to wire.Key, body string, members ...string) string {
	text := fmt.Sprintf(`{"recipient_key":%q,"body":%s`, to, body)
	for _, m := range members {
		text += "," + m
	}
	return text + "}"
}

// poll returns the waiting messages.
func (a *agent) poll(query string) []wire.Message {
	a.Helper()
	return a.wants(http.StatusOK, "", a.do("GET", "/v1/messages"+query, "")).Messages
}

func ids(list []wire.Message) (all []string) {
	for _, m := range list {
		all = append(all, m.ID)
	}
	return all
}

// eventually waits until another goroutine has made a condition true.
func (h *host) eventually(what string, is func() bool) {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			h.Fatalf("never: %s", what)
		case <-tick.C:
		}
	}
}
