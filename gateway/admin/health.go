package admin

import (
	"context"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
)

// Health says whether calls should be sent to this process.
type Health struct {
	Ready         bool             `json:"ready"`
	Checks        map[string]Check `json:"checks"`
	Configuration Configuration    `json:"configuration"`
}

// A Check is one condition of being ready.
type Check struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"`
}

// Configuration names the configuration that is served.
type Configuration struct {
	Hash    string    `json:"hash"`     // over the digests of all its files
	TakenAt time.Time `json:"taken_at"` // the last reload that succeeded, or the start
}

// Status is what the gateway serves, and how it is.
type Status struct {
	Health
	SigningKey string          `json:"signing_key"` // kid
	Services   []ServiceStatus `json:"services"`
}

// A ServiceStatus is one service as it is served.
type ServiceStatus struct {
	ID        string `json:"id"`
	Issuer    string `json:"issuer"`
	PublicURL string `json:"public_url"`
	Policy    Policy `json:"policy"`
	Intents   int    `json:"intents"`
	Breaker   string `json:"breaker"` // closed, half-open or open
	// Engine is what evaluates the policy: its plan or, more slowly, OPA, and why it is OPA.
	Engine       string `json:"engine"`
	EngineReason string `json:"engine_reason,omitempty"`
}

// readiness remembers for a moment whether the store could be written to: the check costs a disk flush, and
// whoever reaches the listener may ask.
type readiness struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

const readyFor = time.Second

func (c *readiness) store(ctx context.Context, now time.Time, check func(context.Context) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if age := now.Sub(c.at).Abs(); c.at.IsZero() || age >= readyFor {
		c.err, c.at = check(context.WithoutCancel(ctx)), now
	}
	return c.err
}

func (a *Server) healthNow(ctx context.Context) Health {
	now, snapshot := a.Now(), a.Directory.Current()
	check := func(ok bool, reason string) Check {
		if ok {
			reason = ""
		}
		return Check{ok, reason}
	}
	err := a.health.store(ctx, now, a.Operations.Ready)
	if err != nil {
		a.Log.Warn("not ready", zap.Error(wire.Bare(err)))
	}
	h := Health{Ready: true, Configuration: Configuration{snapshot.Hash, snapshot.TakenAt.UTC()}, Checks: map[string]Check{
		"store":       check(err == nil, "the store cannot be written to"),
		"revocations": check(a.View.Fresh(now), "what was revoked is not known recently enough"),
		"draining":    check(!a.draining.Load(), "the process is about to end"),
	}}
	for _, c := range h.Checks {
		h.Ready = h.Ready && c.OK
	}
	return h
}

// livez says that the process answers, and nothing else: what a restart cannot mend is no reason for one.
func (a *Server) livez(w http.ResponseWriter, _ *http.Request) {
	a.answer(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (a *Server) readyz(w http.ResponseWriter, r *http.Request) {
	h := a.healthNow(r.Context())
	status := http.StatusOK
	if !h.Ready {
		status = http.StatusServiceUnavailable
	}
	a.answer(w, status, h)
}

func (a *Server) metrics(w http.ResponseWriter, r *http.Request) {
	if !a.Directory.Current().Metrics {
		a.fail(w, r, noSuchPath())
		return
	}
	a.scrape.ServeHTTP(w, r)
}

func (a *Server) status(r *adminRequest) (any, error) {
	if err := r.query.done(); err != nil {
		return nil, err
	}
	out := Status{Health: a.healthNow(r.Context()), SigningKey: string(a.Keys.Current())}
	for _, s := range a.Directory.Current().Services() {
		offer := s.Offer()
		engine, reason := s.Policy.Engine()
		out.Services = append(out.Services, ServiceStatus{
			ID: s.ID, Issuer: s.Issuer, PublicURL: s.PublicURL.String(), Policy: Policy{UID: offer.UID, Digest: offer.Digest, Offered: true},
			Intents: len(s.Catalog.Intents()), Breaker: s.Upstream.BreakerState(), Engine: string(engine), EngineReason: reason,
		})
	}
	return out, nil
}

// A Reload is how a reload went. What it found besides are warnings.
type Reload struct {
	Configuration Configuration `json:"configuration"`
	Problems      []Problem     `json:"problems"`
}

// A Problem is one finding in the configuration.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Level   string `json:"level"` // error or warning
	Message string `json:"message"`
}

func (a *Server) reloadNow(r *adminRequest) (any, error) {
	if err := r.query.done(); err != nil {
		return nil, err
	}
	if err := r.noBody(); err != nil {
		return nil, err
	}
	if a.Reload == nil {
		return nil, reason.NotOffered.Refusal("")
	}
	found := a.Reload(r.Context())
	problems := showProblems(found)
	if found.Failed() {
		return nil, reason.ConfigRefused.Refusal("").With("problems", problems)
	}
	snapshot := a.Directory.Current()
	return Reload{Configuration{snapshot.Hash, snapshot.TakenAt.UTC()}, problems}, nil
}

func showProblems(found config.Problems) []Problem {
	out := make([]Problem, 0, len(found))
	for _, p := range found {
		out = append(out, Problem{p.File, p.Line, p.Column, string(p.Level), p.Message})
	}
	return out
}
