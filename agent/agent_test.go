package agent_test

import (
	"context"
	"crypto"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
	"github.com/uimgate/uimgate/pat/keys"
)

var testKeys = map[string]func() (crypto.Signer, error){
	keys.EdDSA: sync.OnceValues(func() (crypto.Signer, error) { return agent.NewKey(keys.EdDSA) }),
	keys.ES256: sync.OnceValues(func() (crypto.Signer, error) { return agent.NewKey(keys.ES256) }),
	keys.RS256: sync.OnceValues(func() (crypto.Signer, error) { return agent.NewKey(keys.RS256) }),
}

func keyOf(tb testing.TB, algorithm string) crypto.Signer {
	tb.Helper()
	key, err := testKeys[algorithm]()
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// waits records how long a client would have slept.
type waits struct {
	mu   sync.Mutex
	list []time.Duration
}

func (w *waits) sleep(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, d)
	return ctx.Err()
}

func (w *waits) all() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]time.Duration{}, w.list...)
}

func options(tb testing.TB, s *agenttest.Service) agent.Options {
	tb.Helper()
	return agent.Options{Key: keyOf(tb, keys.EdDSA), AgentID: "robot", Now: s.Clock.Now, Sleep: (&waits{}).sleep}
}

func clientOf(tb testing.TB, o agent.Options) *agent.Client {
	tb.Helper()
	c, err := agent.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	c.NoJitter()
	tb.Cleanup(c.Close)
	return c
}

func discover(tb testing.TB, o agent.Options, target string) *agent.Service {
	tb.Helper()
	s, err := clientOf(tb, o).Discover(tb.Context(), target)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// agreed discovers a service and agrees to its policy.
func agreed(tb testing.TB, o agent.Options, target string) *agent.Service {
	tb.Helper()
	s := discover(tb, o, target)
	p, err := s.Policy(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := s.Agree(tb.Context(), agent.Acceptance{Digest: p.Digest}); err != nil {
		tb.Fatal(err)
	}
	return s
}

func refusal(tb testing.TB, err error) *agent.Error {
	tb.Helper()
	e, ok := errors.AsType[*agent.Error](err)
	if !ok {
		tb.Fatalf("err = %v, want an *agent.Error", err)
	}
	return e
}

func wantErr(tb testing.TB, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Fatalf("err = %v, want %v", err, want)
	}
}

func readFile(tb testing.TB, path string) string {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

func writeFile(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}
