package verify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/verify/doors"
	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/internal/delay"
	"github.com/uimgate/uimgate/internal/fetch"
)

// Records are the DNS records of a domain. The field of a missing record is empty. See UIM core, section 5.1.
type Records struct {
	AgentsFile, PolicyFile, Discovery, License string
}

const (
	// DefaultMaxTime limits the duration of a run.
	DefaultMaxTime = 2 * time.Minute
	// defaultTimeout limits the duration of one exchange. It is shorter than that of an agent, so that one exchange does not use up the run.
	defaultTimeout = 10 * time.Second
	maxDocument    = 16 << 20
	maxAnswer      = 1 << 20
	maxPAT         = 256 << 10
	maxWait        = point.MaxWait // longest wait for a Retry-After or the expiry of a PAT
)

// Options are the target and the limits of a run.
type Options struct {
	// Target is the URL of an agents.json, an origin or a domain, as in agent.Client.Discover.
	Target string
	// Client holds the options of the agent. If Key is nil, Run creates a key for this run. Run replaces Locate with a function that returns
	// the result of Lookup, and Wrap with a recorder that calls the given Wrap.
	Client agent.Options
	// Agree permits Run to sign the policy, whatever its terms are. If it is false, Run signs nothing.
	Agree bool
	// Issuer is a name that the service may use although its host does not vouch for it.
	Issuer string
	// Parameters are the parameters of calls, by the uid of the intent. They are for intents whose descriptions give no values. Run does not
	// call an unsafe intent even if there are parameters for it.
	Parameters map[string]map[string]any
	// MaxTime limits the duration of the run; 0 means DefaultMaxTime.
	MaxTime time.Duration
	// Lookup queries the DNS records of a domain. If it is nil, the checks of DNS are skipped.
	Lookup func(ctx context.Context, domain string) (Records, error)
}

// Run verifies one service. If the service is broken or unreachable, Run returns a Report and no error. Its errors are those of agent.New,
// and errors that wrap agent.ErrTarget.
func Run(ctx context.Context, o Options) (Report, error) {
	v, err := newVerification(o)
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
	if err := v.discover(ctx); err != nil {
		return Report{}, err
	}
	r := Report{Target: printable(o.Target), Complete: true}
	if v.agentsFile != nil {
		r.Agents = printable(v.agentsFile.url.String())
	}
	for _, c := range checks {
		f := v.perform(ctx, c)
		v.outcomes[c.id] = f.Outcome
		r.Checks = append(r.Checks, Check{c.id, c.section, c.title, c.level, f.Outcome, printable(f.Detail)})
	}
	r.Complete = ctx.Err() == nil
	v.revokeLast(ctx)
	return r, nil
}

// perform runs one check, unless the check on which it depends did not pass.
func (v *verification) perform(ctx context.Context, c check) finding {
	if ctx.Err() != nil {
		return skipped("the time limit was reached")
	}
	if c.after != "" && v.outcomes[c.after] != Holds {
		return skipped("it depends on %s", c.after)
	}
	f := c.run(v, ctx)
	if ctx.Err() != nil && f.Outcome != Holds {
		return skipped("the time limit was reached")
	}
	return f
}

// discover looks for the service. A missing service is not an error, but an invalid target is.
func (v *verification) discover(ctx context.Context) error {
	v.lookup(ctx)
	v.recorder.start(maxDocument + 1)
	service, err := v.client.Discover(ctx, v.options.Target)
	v.exchanges = v.recorder.stop()
	if errors.Is(err, agent.ErrTarget) {
		return err
	}
	v.service, v.findErr = service, err
	if v.agentsFile = agentsDocument(v.exchanges); v.agentsFile != nil {
		v.Agents = v.agentsFile.url
	}
	return nil
}

// agentsDocument returns the agents.json to check: the first response with status 200 that looks like JSON, otherwise the first response
// with status 200, or nil. An agent that cannot use one address may try another, which would hide the problem.
func agentsDocument(found []exchange) *exchange {
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

// revokeLast revokes a PAT that is still valid, even if the time limit was reached.
func (v *verification) revokeLast(ctx context.Context) {
	if v.service == nil || !v.service.Session().Agreed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), defaultTimeout)
	defer cancel()
	_ = v.service.Revoke(ctx) // an earlier check has reported a service that cannot revoke
}

// newVerification creates the clients of a run.
func newVerification(o Options) (*verification, error) {
	o.Client.Timeout = cmp.Or(o.Client.Timeout, defaultTimeout)
	o.Client.MaxDocument = cmp.Or(o.Client.MaxDocument, maxDocument)
	if o.Client.Key == nil {
		key, err := agent.NewKey("EdDSA")
		if err != nil {
			return nil, fmt.Errorf("creating a key for this run: %w", err)
		}
		o.Client.Key = key
	}
	if o.Client.Now == nil {
		o.Client.Now = time.Now //nolint:forbidigo // the default if the caller sets no clock
	}
	if o.Client.Sleep == nil {
		o.Client.Sleep = delay.For
	}
	site := point.Site{AllowInsecure: o.Client.AllowInsecure, Now: o.Client.Now, Sleep: o.Client.Sleep}
	v := &verification{Service: &doors.Service{Site: site}, options: o, recorder: &recorder{}, outcomes: map[string]Outcome{}}
	v.Permits = func(uid string) bool {
		return v.service == nil || !v.service.Session().Agreed() || v.service.Session().Permits(uid)
	}
	v.recorder.wrapped = o.Client.Wrap
	o.Client.Wrap = v.recorder.wrap
	o.Client.Locate = v.locate
	client, err := agent.New(o.Client)
	if err != nil {
		return nil, err
	}
	v.client = client
	plain := fetch.Options{
		AllowInsecure: o.Client.AllowInsecure, Timeout: o.Client.Timeout, UserAgent: o.Client.UserAgent, TLS: o.Client.TLS,
		Resolver: o.Client.Resolver, Wrap: v.recorder.wrap,
	}
	v.fetch = fetch.New(plain)
	plain.Wrap = v.recorder.wrapDoors
	v.doorFetch = fetch.New(plain)
	v.doors = doors.New(v.Service, v.doorFetch)
	return v, nil
}

func (v *verification) close() {
	v.client.Close()
	v.fetch.Close()
	v.doorFetch.Close()
}
