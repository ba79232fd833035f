// Package agenttest is a small UIM service for tests of agents: it speaks the protocol over HTTP,
// verifies agreements, tokens and proofs of key for real, and can be told to misbehave. It keeps
// everything in memory and offers two intents: one that is free and safe, one that costs money and asks
// for a proof of key. The usual call:
//
//	service := agenttest.New(t, agenttest.Canonical)
//	service.Script(agenttest.Reply{Status: 503, Header: map[string]string{"Retry-After": "1"}})
package agenttest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

// A Dialect is the way the service speaks.
type Dialect string

// The dialects.
const (
	Canonical Dialect = "canonical" // UIM core, with fresh agreements, renewal and proofs of key
	Mock      Dialect = "mock"      // the reference web service: maps of parameters, /pat/issue, /uim/execute, signed policies
	Guide     Dialect = "guide"     // as Mock, but it takes a detached signature over Python's json.dumps
	Draft     Dialect = "draft"     // draft-uim-protocol-core-01: another body, answers in an envelope
)

// What the service offers.
const (
	Issuer    = "shop.example"
	Search    = "shop.example:search:v1" // safe and free
	Order     = "shop.example:order:v1"  // costs 0.01 USD and wants a proof of key
	PolicyUID = "https://shop.example/policy/1"
)

// A Clock stands until it is moved.
type Clock struct {
	mu sync.Mutex
	t  time.Time
}

// Now is the time by the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

// SetNow sets the clock to the real time, at which it stands again.
func (c *Clock) SetNow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = time.Now() //nolint:forbidigo // for tests of whole programs, which take no clock
}

// Add moves the clock.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// A Reply is what the service answers to an execute call instead of doing it.
type Reply struct {
	Status int
	Header map[string]string
	Body   string
	Break  bool // breaks the connection off instead, after it did the call
}

// A Call is one execute call that arrived.
type Call struct {
	UID            string
	Parameters     map[string]any
	IdempotencyKey string
	Proved         bool
	TokenID        string
	Header         http.Header
}

// A Service is running until its test ends. It is safe for concurrent use.
type Service struct {
	*httptest.Server
	Clock   *Clock
	Dialect Dialect
	TTL     time.Duration

	key ed25519.PrivateKey

	mu        sync.Mutex
	offer     pat.Offer
	tokens    map[string]*token
	nonces    map[string]bool
	stored    map[string]stored
	script    []Reply
	calls     []Call
	paths     []string
	approving bool
	approved  bool
	waiting   map[string]bool
	extra     map[string]any
}

type token struct {
	agentID string
	key     pat.Key
	exp     time.Time
	ended   bool
	digest  string
}

type stored struct {
	fingerprint string
	body        []byte
}

// New starts a service in one dialect.
func New(tb testing.TB, d Dialect) *Service {
	tb.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	s := &Service{
		Dialect: d, TTL: time.Hour, Clock: &Clock{t: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}, key: key,
		tokens: map[string]*token{}, nonces: map[string]bool{}, stored: map[string]stored{}, waiting: map[string]bool{}, extra: map[string]any{},
	}
	s.Server = httptest.NewServer(s.routes())
	tb.Cleanup(s.Close)
	s.Offer(tb, `{"@context": "http://www.w3.org/ns/odrl.jsonld", "uid": "`+PolicyUID+`", "@type": "Set", "note": "täglich", "permission": [{"target": "`+Search+`", "action": "execute"}]}`)
	return s
}

// Offer replaces the policy.
func (s *Service) Offer(tb testing.TB, policy string) {
	tb.Helper()
	offer, err := pat.NewOffer([]byte(policy), PolicyUID)
	if err != nil {
		tb.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offer = offer
}

// Digest is that of the policy offered now.
func (s *Service) Digest() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offer.Digest
}

// Script answers the next execute calls with these replies, in order.
func (s *Service) Script(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, replies...)
}

// Extra sets a top-level member of agents.json, over what stands there.
func (s *Service) Extra(name string, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extra[name] = value
}

// Approving makes every new agreement wait until Approve.
func (s *Service) Approving() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.approving = true
}

// Approve approves all agents.
func (s *Service) Approve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.approved = true
}

// Calls are the execute calls that arrived with a good PAT, those answered by a script included.
func (s *Service) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Asked counts the requests for a path.
func (s *Service) Asked(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, p := range s.paths {
		if p == path {
			n++
		}
	}
	return n
}

// EndAll revokes every token.
func (s *Service) EndAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tokens {
		t.ended = true
	}
}

func (s *Service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /agents.json", s.agents)
	switch s.Dialect {
	case Mock, Guide:
		mux.HandleFunc("GET /uim-policy.json", s.policy)
		mux.HandleFunc("POST /pat/issue", s.issue)
		mux.HandleFunc("POST /uim/execute", s.execute)
		mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
			write(w, http.StatusNotFound, map[string]any{"detail": "Not Found"})
		})
	case Draft, Canonical:
		mux.HandleFunc("GET /api/policy", s.policy)
		mux.HandleFunc("GET /api/intents/search", s.search)
		mux.HandleFunc("GET /api/intents/{uid}", s.intent)
		mux.HandleFunc("POST /api/pat/issue", s.issue)
		mux.HandleFunc("POST /api/pat/renew", s.renew)
		mux.HandleFunc("POST /api/pat/revoke", s.revoke)
		mux.HandleFunc("POST /api/intents/execute", s.execute)
		mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, reason.NoSuchPath, nil)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.paths = append(s.paths, r.URL.Path)
		s.mu.Unlock()
		mux.ServeHTTP(w, r)
	})
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// refuse answers with the error of UIM core 3.3.
func refuse(w http.ResponseWriter, r reason.Reason, details map[string]any) {
	if details == nil {
		details = map[string]any{}
	}
	details["reason"] = r
	write(w, r.Status(), map[string]any{"error": map[string]any{"code": r.Code(), "message": "refused", "details": details}})
}

func body(r *http.Request) map[string]any {
	data, err := io.ReadAll(io.LimitReader(r.Body, 8<<20))
	if err != nil {
		return nil
	}
	tree, err := strictjson.DecodeObject(data)
	if err != nil {
		return nil
	}
	return tree
}
