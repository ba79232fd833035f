package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
)

// AdminHealth says whether calls should be sent to this process.
type AdminHealth struct {
	Ready         bool                  `json:"ready"`
	Checks        map[string]AdminCheck `json:"checks"`
	Configuration AdminConfiguration    `json:"configuration"`
}

// An AdminCheck is one condition of being ready.
type AdminCheck struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"`
}

// AdminConfiguration names the configuration that is served.
type AdminConfiguration struct {
	Hash    string    `json:"hash"`     // over the digests of all its files
	TakenAt time.Time `json:"taken_at"` // the last reload that succeeded, or the start
}

// AdminStatus is what the gateway serves, and how it is.
type AdminStatus struct {
	AdminHealth
	SigningKey string               `json:"signing_key"` // kid
	Services   []AdminServiceStatus `json:"services"`
}

// An AdminServiceStatus is one service as it is served.
type AdminServiceStatus struct {
	ID        string      `json:"id"`
	Issuer    string      `json:"issuer"`
	PublicURL string      `json:"public_url"`
	Policy    AdminPolicy `json:"policy"`
	Intents   int         `json:"intents"`
	Breaker   string      `json:"breaker"` // closed, half-open or open
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

func (a *admin) healthNow(ctx context.Context) AdminHealth {
	s := a.server
	now, snapshot := s.now(), s.current.Load()
	check := func(ok bool, reason string) AdminCheck {
		if ok {
			reason = ""
		}
		return AdminCheck{ok, reason}
	}
	err := a.health.store(ctx, now, s.deps.Operations.Ready)
	if err != nil {
		s.log.Warn("not ready", zap.Error(bare(err)))
	}
	h := AdminHealth{Ready: true, Configuration: AdminConfiguration{snapshot.hash, snapshot.taken.UTC()}, Checks: map[string]AdminCheck{
		"store":       check(err == nil, "the store cannot be written to"),
		"revocations": check(s.deps.View.Fresh(now), "what was revoked is not known recently enough"),
		"draining":    check(!s.draining.Load(), "the process is about to end"),
	}}
	for _, c := range h.Checks {
		h.Ready = h.Ready && c.OK
	}
	return h
}

// livez says that the process answers, and nothing else: what a restart cannot mend is no reason for one.
func (a *admin) livez(w http.ResponseWriter, _ *http.Request) {
	a.answer(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (a *admin) readyz(w http.ResponseWriter, r *http.Request) {
	h := a.healthNow(r.Context())
	status := http.StatusOK
	if !h.Ready {
		status = http.StatusServiceUnavailable
	}
	a.answer(w, status, h)
}

func (a *admin) metrics(w http.ResponseWriter, r *http.Request) {
	if !a.server.current.Load().metrics {
		a.fail(w, r, noSuchPath())
		return
	}
	a.scrape.ServeHTTP(w, r)
}

func (a *admin) status(r *adminRequest) (any, error) {
	if err := r.query.done(); err != nil {
		return nil, err
	}
	out := AdminStatus{AdminHealth: a.healthNow(r.Context()), SigningKey: a.server.deps.Keys.Current()}
	for _, s := range a.server.current.Load().ordered {
		offer := s.Offer()
		engine, reason := s.Policy.Engine()
		out.Services = append(out.Services, AdminServiceStatus{
			ID: s.ID, Issuer: s.Issuer, PublicURL: s.PublicURL.String(), Policy: AdminPolicy{UID: offer.UID, Digest: offer.Digest, Offered: true},
			Intents: len(s.intents), Breaker: s.Upstream.BreakerState(), Engine: string(engine), EngineReason: reason,
		})
	}
	return out, nil
}

// An AdminReload is how a reload went. What it found besides are warnings.
type AdminReload struct {
	Configuration AdminConfiguration `json:"configuration"`
	Problems      []AdminProblem     `json:"problems"`
}

// An AdminProblem is one finding in the configuration.
type AdminProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Level   string `json:"level"` // error or warning
	Message string `json:"message"`
}

func (a *admin) reloadNow(r *adminRequest) (any, error) {
	if err := r.query.done(); err != nil {
		return nil, err
	}
	if err := r.noBody(); err != nil {
		return nil, err
	}
	if a.reload == nil {
		return nil, newAdminFault("NOT_OFFERED", "This process cannot reload its configuration.")
	}
	found := a.reload(r.Context())
	problems := showProblems(found)
	if found.Failed() {
		return nil, newAdminFault("CONFIG_REFUSED", "The configuration was not taken over.").with("problems", problems)
	}
	snapshot := a.server.current.Load()
	return AdminReload{AdminConfiguration{snapshot.hash, snapshot.taken.UTC()}, problems}, nil
}

func showProblems(found config.Problems) []AdminProblem {
	out := make([]AdminProblem, 0, len(found))
	for _, p := range found {
		out = append(out, AdminProblem{p.File, p.Line, p.Column, string(p.Level), p.Message})
	}
	return out
}
