package execute

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// A Left states how many more calls to an intent an agent can make under one permission.
type Left struct {
	Charge money.Amount // of a call; zero: free
	// Limit is the limit that admits the fewest calls, and Calls is their number. An empty Limit.ID means that no limit applies.
	Limit limit.Limit
	Calls int64
	// AtLeast means that Calls is a lower bound, because other processes may have taken units of the limit in advance.
	AtLeast bool
}

// maxLeft bounds the limits that Left reads, so that a search for intents costs one short read of the store.
const maxLeft = 64

// Left returns, for each intent and for each permission in order of preference, how many more calls the agent of the PAT in call can make.
// It omits intents that the agent cannot call, and those for which it would have to read more than 64 limits in all. It reads the state
// of all limits from the store at once, and takes no units. The error is a *reason.Refusal.
func (x *Executor) Left(ctx context.Context, call Call, uids []string) (map[string][]Left, error) {
	asks, err := x.identified(ctx, call)
	if err != nil {
		return nil, err
	}
	if asks.approved, err = x.approved(ctx, asks.service.ID, asks.claims.Principal()); err != nil {
		return nil, refusal.For(err)
	}
	agreed := func() (keys.Key, error) { return x.agreedKey(ctx, asks) }
	own, err := asks.current.TokenLimit(ctx, asks.claims, agreed)
	if err != nil {
		return nil, refusal.For(err)
	}
	out := map[string][]Left{}
	var all []store.Reservation
	type place struct {
		left     *Left
		from, to int // in all
	}
	var places []place
	for _, uid := range uids {
		candidates, err := x.candidates(ctx, asks, uid, agreed)
		if err != nil {
			return nil, err
		}
		list := make([]Left, len(candidates))
		before := len(all)
		for i := range candidates {
			from := len(all)
			all = append(all, asks.limitsOf(own, &candidates[i])...)
			list[i].Charge = candidates[i].Charge
			places = append(places, place{&list[i], from, len(all)})
		}
		if len(all) > maxLeft {
			all, places = all[:before], places[:len(places)-len(candidates)]
			break
		}
		if len(list) > 0 {
			out[uid] = list
		}
	}
	states, err := x.cfg.Limits.Left(ctx, asks.service.ID, all)
	if err != nil {
		return nil, refusal.For(err)
	}
	for _, p := range places {
		for _, s := range states[p.from:p.to] {
			if p.left.Limit.ID == "" || s.Left < p.left.Calls {
				p.left.Limit, p.left.Calls = s.Limit, s.Left
			}
			p.left.AtLeast = p.left.AtLeast || s.AtLeast
		}
	}
	return out, nil
}

// candidates returns the permissions that may allow the agent to call an intent, and sets the service and the intent of e. It returns none
// if the agent cannot call the intent.
func (x *Executor) candidates(ctx context.Context, e *execution, uid string, agreed func() (keys.Key, error)) ([]odrl.Candidate, error) {
	in, err := e.current.Executable(uid)
	if err != nil || !e.claims.Permits(uid) {
		return nil, nil //nolint:nilerr // the agent cannot call the intent
	}
	under, err := e.current.Under(e.claims.PolicyDigest, uid)
	if err != nil {
		return nil, nil //nolint:nilerr // the agent has to agree to another policy first
	}
	e.service, e.intent = under, in
	candidates, err := under.Candidates(ctx, e.claims, uid, agreed)
	if err != nil {
		return nil, refusal.For(err)
	}
	allowed, _ := in.Allowed(e.claims.Assurance, e.claims.KeyID != "", candidates, nil)
	return allowed, nil
}

// limitsOf returns the limits that begin reserves for a call under a permission, except hidden ones. own is the limit of the PAT; it may be
// nil.
func (e *execution) limitsOf(own *limit.Limit, c *odrl.Candidate) []store.Reservation {
	return slices.DeleteFunc(e.appendLimits(e.appendOwn(nil, own), c), func(r store.Reservation) bool { return hidden(r.Limit) })
}
