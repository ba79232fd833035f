package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/fetch"
)

// A Level says how binding a point is.
type Level string

// The levels. Only what is Must decides whether a report passes.
const (
	Must   Level = "must"
	Should Level = "should"
	May    Level = "may"
)

// An Outcome is what came of one check.
type Outcome string

// The outcomes.
const (
	Holds   Outcome = "holds"
	Missing Outcome = "missing" // it is not there
	Wrong   Outcome = "wrong"   // it is there and not as it is asked for
	Skipped Outcome = "skipped" // it could not be told; Detail says why
)

// A Check is one point with its outcome.
type Check struct {
	ID      string  `json:"id"` // stable, for programs
	Section string  `json:"section"`
	Title   string  `json:"title"`
	Level   Level   `json:"level"`
	Outcome Outcome `json:"outcome"`
	Detail  string  `json:"detail,omitempty"` // on one line, without control characters
}

// A Report is what was found, in the order of the list of checks, which is the same for every service.
type Report struct {
	Target   string  `json:"target"`
	Agents   string  `json:"agents,omitempty"` // URL of the agents.json that was judged; empty: none was found
	Complete bool    `json:"complete"`         // false: the time was up before all was tried
	Checks   []Check `json:"checks"`
}

// Passed reports whether all was tried and nothing that must be is missing or wrong.
func (r Report) Passed() bool {
	for _, c := range r.Checks {
		if c.Level == Must && c.Failed() {
			return false
		}
	}
	return r.Complete
}

// Failed reports whether the point is missing or wrong.
func (c Check) Failed() bool { return c.Outcome == Missing || c.Outcome == Wrong }

// Count is how many checks ended so.
func (r Report) Count(o Outcome) int {
	n := 0
	for _, c := range r.Checks {
		if c.Outcome == o {
			n++
		}
	}
	return n
}

// Records are what DNS says of a domain's service; empty texts are fields that no record holds. UIM core 5.1.
type Records struct {
	AgentsFile, PolicyFile, Discovery, License string
}

const (
	// DefaultMaxTime bounds a whole run.
	DefaultMaxTime = 2 * time.Minute
	// DefaultTimeout bounds one exchange; shorter than an agent's, since one that hangs must not use up the run.
	DefaultTimeout = 10 * time.Second
	maxDocument    = 16 << 20
	maxAnswer      = 1 << 20
	maxPAT         = 256 << 10
	maxWait        = 10 * time.Second // for a Retry-After or the end of a PAT
)

// Options say what is verified and how far it goes.
type Options struct {
	// Target is the URL of an agents.json, an origin or a domain, as agent.Client.Discover takes it.
	Target string
	// Client says whose agent asks, and how. Without a Key one is made for this run. Locate and Wrap are
	// set here: Locate to what Lookup finds, Wrap to a recorder around the one given.
	Client agent.Options
	// Agree permits signing the policy, whatever it says. Without it nothing is signed.
	Agree bool
	// Issuer accepts a service that speaks in this name although its host does not vouch for it.
	Issuer string
	// Parameters are what intents may be called with, by uid, where their descriptions give no values. They
	// make no intent safe that is not.
	Parameters map[string]map[string]any
	// MaxTime bounds the run; 0 is DefaultMaxTime.
	MaxTime time.Duration
	// Lookup asks DNS for a domain's records; nil leaves those checks out.
	Lookup func(ctx context.Context, domain string) (Records, error)
}

// Run verifies one service. A service that is broken or not there is a Report; errors are those of
// agent.New, and agent.ErrTarget.
func Run(ctx context.Context, o Options) (Report, error) {
	v, err := newVisit(o)
	if err != nil {
		return Report{}, err
	}
	defer v.close()
	limit := o.MaxTime
	if limit <= 0 {
		limit = DefaultMaxTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := v.find(ctx); err != nil {
		return Report{}, err
	}
	r := Report{Target: shown(o.Target), Complete: true}
	if v.file != nil {
		r.Agents = shown(v.file.url.String())
	}
	for _, c := range checks {
		f := v.judge(ctx, c)
		v.outcomes[c.id] = f.outcome
		r.Checks = append(r.Checks, Check{c.id, c.section, c.title, c.level, f.outcome, shown(f.detail)})
	}
	r.Complete = ctx.Err() == nil
	v.leave(ctx)
	return r, nil
}

// judge makes one check, unless what it rests on does not hold.
func (v *visit) judge(ctx context.Context, c check) finding {
	if ctx.Err() != nil {
		return skipped("the time was up")
	}
	if c.after != "" && v.outcomes[c.after] != Holds {
		return skipped("it rests on %s", c.after)
	}
	f := c.run(v, ctx)
	if ctx.Err() != nil && f.outcome != Holds {
		return skipped("the time was up")
	}
	return f
}

// find looks for the service.
func (v *visit) find(ctx context.Context) error {
	v.lookup(ctx)
	v.record.keep(maxDocument + 1)
	service, err := v.client.Discover(ctx, v.o.Target)
	v.found = v.record.take()
	if errors.Is(err, agent.ErrTarget) {
		return err
	}
	v.service, v.findErr = service, err
	v.file = document(v.found)
	return nil
}

// document is the agents.json to judge: the first that is served and looks like JSON, else the first that
// is served, else nil. An agent that cannot use it may go on to another place, which would hide it.
func document(found []exchange) *exchange {
	var first *exchange
	for i := range found {
		e := &found[i]
		if e.status != http.StatusOK {
			continue
		}
		if bytes.HasPrefix(bytes.TrimSpace(e.body()), []byte("{")) {
			return e
		}
		if first == nil {
			first = e
		}
	}
	return first
}

// leave ends a PAT that is still good: also where the time was up.
func (v *visit) leave(ctx context.Context) {
	if v.service == nil || !v.service.Session().Agreed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), DefaultTimeout)
	defer cancel()
	_ = v.service.Revoke(ctx) // a service that cannot has been told of
}

// newVisit makes the clients.
func newVisit(o Options) (*visit, error) {
	if o.Client.Timeout == 0 {
		o.Client.Timeout = DefaultTimeout
	}
	if o.Client.MaxDocument == 0 {
		o.Client.MaxDocument = maxDocument
	}
	if o.Client.Key == nil {
		key, err := agent.NewKey("EdDSA")
		if err != nil {
			return nil, fmt.Errorf("making a key for this run: %w", err)
		}
		o.Client.Key = key
	}
	if o.Client.Now == nil {
		o.Client.Now = time.Now //nolint:forbidigo // the one place where the caller leaves the clock to us
	}
	if o.Client.Sleep == nil {
		o.Client.Sleep = sleep
	}
	v := &visit{o: o, record: &recorder{}, outcomes: map[string]Outcome{}}
	v.record.outer = o.Client.Wrap
	o.Client.Wrap = v.record.wrap
	o.Client.Locate = v.locate
	client, err := agent.New(o.Client)
	if err != nil {
		return nil, err
	}
	v.client = client
	v.fetch = fetch.New(fetch.Options{
		AllowInsecure: o.Client.AllowInsecure, Timeout: o.Client.Timeout, UserAgent: o.Client.UserAgent, TLS: o.Client.TLS,
		Resolver: o.Client.Resolver, Wrap: v.record.wrap,
	})
	return v, nil
}

func (v *visit) close() {
	v.client.Close()
	v.fetch.Close()
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
