package agenttest

import (
	"crypto/ed25519"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// A Dialect is the form of the protocol that a service uses.
type Dialect string

// The dialects.
const (
	Canonical Dialect = "canonical" // UIM core, with fresh agreements, renewal and proofs of key
	Mock      Dialect = "mock"      // the reference web service: maps of parameters, /pat/issue, /uim/execute, signed policies
	Guide     Dialect = "guide"     // as Mock, but it accepts a detached signature over Python's json.dumps
	Draft     Dialect = "draft"     // draft-uim-protocol-core-01: another body, responses in an envelope
)

// The offer of the service.
const (
	Issuer    = "shop.example"
	Search    = "shop.example:search:v1" // safe and free
	Order     = "shop.example:order:v1"  // costs 0.01 USD and requires a proof of key
	PolicyUID = "https://shop.example/policy/1"
)

// hidden is the uid of an intent that agents.json does not list. The service describes it on request.
const hidden = "shop.example:hidden:v1"

const firstPolicy = `{"@context": "http://www.w3.org/ns/odrl.jsonld", "uid": "` + PolicyUID + `", "@type": "Set", "note": "täglich",` +
	` "permission": [{"target": "` + Search + `", "action": "execute"}]}`

// A Service is a UIM service on a free port of the loopback address. It is safe for concurrent use.
type Service struct {
	*httptest.Server
	Clock   *Clock // starts at noon on 2026-11-21, UTC
	Dialect Dialect
	TTL     time.Duration // the TTL of new PATs; an hour by default

	key ed25519.PrivateKey

	mu       sync.Mutex
	offer    pat.Offer
	tokens   map[string]*token // by jti
	nonces   map[string]bool   // the nonces of agreements and proofs
	answers  map[string]answer // by idempotency key
	script   []Reply
	calls    []Call
	paths    []string // the paths of all requests
	approval approval
	members  map[string]any // the members of agents.json; they replace the service's own
	books    *books         // nil: the service gives no receipts
}

// An approval is the state of the operator's approval of new agreements.
type approval struct {
	required bool
	given    bool
	waiting  map[string]bool // by nonce of the agreement
}

// A token is an issued PAT.
type token struct {
	agentID string
	key     keys.Key
	exp     time.Time
	revoked bool
	digest  string // the digest of the policy
}

// An answer is a response stored under an idempotency key.
type answer struct {
	fingerprint string
	body        []byte
	charged     http.Header
}

// New starts a service in one dialect, and stops it when the test ends.
func New(tb testing.TB, d Dialect) *Service {
	tb.Helper()
	s, err := Start(d)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// Start starts a service outside a test. The caller must close it.
func Start(d Dialect) (*Service, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	offer, err := pat.NewOffer([]byte(firstPolicy), PolicyUID)
	if err != nil {
		return nil, err
	}
	s := &Service{
		Dialect: d, TTL: time.Hour, Clock: &Clock{t: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}, key: key, offer: offer,
		tokens: map[string]*token{}, nonces: map[string]bool{}, answers: map[string]answer{}, members: map[string]any{},
		approval: approval{waiting: map[string]bool{}},
	}
	s.Server = httptest.NewServer(s.routes())
	return s, nil
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

// Digest returns the digest of the currently offered policy.
func (s *Service) Digest() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offer.Digest
}

// SetMember sets or replaces a top-level member of agents.json.
func (s *Service) SetMember(name string, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members[name] = value
}

// RequireApproval makes every new agreement pending until Approve.
func (s *Service) RequireApproval() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.approval.required = true
}

// Approve approves all agents.
func (s *Service) Approve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.approval.given = true
}

// RevokeAll revokes every token.
func (s *Service) RevokeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tokens {
		t.revoked = true
	}
}

// A Reply is a prepared response to an execute call. The service then does not make the call.
type Reply struct {
	Status int
	Header map[string]string
	Body   string
	Break  bool // makes the call and then closes the connection without a response; ignores the other fields
}

// Script makes the service respond to the next execute calls with these replies, in order.
func (s *Service) Script(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, replies...)
}

// A Call is one received execute call.
type Call struct {
	UID            string
	Parameters     map[string]any
	IdempotencyKey string
	Proved         bool // with a valid proof of key
	TokenID        string
	Header         http.Header
}

// Calls returns the execute calls that arrived with a valid PAT, including those that the script answered.
func (s *Service) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Requests returns the number of requests for a path.
func (s *Service) Requests(path string) int {
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
