// Package quote determines, before a call, the conditions on which the policy of a service permits the call to an agent: the maximum
// price, and how often the agent may make the call. It interprets the policy in the same way as the gateway that offers it.
package quote

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/words"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// An Agent is the calling agent.
type Agent struct {
	ID  pat.AgentID
	Key keys.Key
}

// A Quote has the price and the limit of one intent.
type Quote struct {
	Most  money.Amount // maximum price of one call; zero means free of charge
	Words string       // the price and the limit in one or more sentences
}

// maxTime is the maximum time for reading one policy.
const maxTime = 10 * time.Second

// Of returns the quotes for the intents of a catalogue, by UID. An intent is missing if the policy cannot be read, does not permit it, or
// charges for it in more than one currency. Assignees that the policy names are treated as this agent, so that a quote is never too low.
// Terms that apply only to some calls are treated as if they applied to all.
func Of(ctx context.Context, policy []byte, catalog *intents.Catalog, who Agent, now time.Time) map[string]Quote {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	out := map[string]Quote{}
	published, _ := odrl.Publish(ctx, policy, world(catalog))
	if published == nil {
		return out
	}
	for _, in := range catalog.Intents() {
		if in.Retired {
			continue
		}
		terms, err := published.Terms(ctx, odrl.Request{
			AgentID: string(who.ID), KeyID: string(who.Key.Thumbprint()), AgentKey: who.Key.SPKI(), Intent: in.UID.String(), Now: now,
		})
		if err != nil || !terms.Permitted || len(terms.Candidates) == 0 {
			continue
		}
		if q, ok := highest(terms.Candidates); ok {
			out[in.UID.String()] = q
		}
	}
	return out
}

// Publish returns the policy of a service for the intents of its catalogue, or nil if it cannot be published.
func Publish(ctx context.Context, policy []byte, catalog *intents.Catalog) *odrl.Policy {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	published, _ := odrl.Publish(ctx, policy, world(catalog))
	return published
}

// A Difference describes what changes for an agent when one policy replaces another.
type Difference struct {
	Same    map[string]bool // UIDs of the intents whose terms stay the same; an agreement to the first policy covers them
	Changes []words.Change
}

// Compare compares two policies for the intents of a catalogue. It returns false if one of the policies cannot be read.
func Compare(ctx context.Context, before, after []byte, catalog *intents.Catalog) (Difference, bool) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	w := world(catalog)
	first, _ := odrl.Publish(ctx, before, w)
	second, _ := odrl.Publish(ctx, after, w)
	if first == nil || second == nil {
		return Difference{}, false
	}
	d := Difference{Same: map[string]bool{}, Changes: words.Compare(first, second).Changes}
	clauses := words.Clauses(second)
	for uid, clause := range words.Clauses(first) {
		d.Same[uid] = clauses[uid] == clause
	}
	return d, true
}

// highest returns the quote for the most expensive permission. It returns false if the permissions have different currencies.
func highest(candidates []odrl.Candidate) (Quote, bool) {
	var most money.Amount
	same := true
	for _, c := range candidates {
		if !c.Charge.IsZero() && !most.IsZero() && c.Charge.Currency != most.Currency {
			return Quote{}, false
		}
		same = same && c.Charge == candidates[0].Charge
		if c.Charge.Nano > most.Nano {
			most = c.Charge
		}
	}
	words := "Free of charge."
	switch {
	case !same:
		words = "Costs up to " + most.String() + " a call."
	case !most.IsZero():
		words = "Costs " + most.String() + " a call."
	}
	if len(candidates) == 1 {
		for _, l := range candidates[0].Limits {
			words += " " + allowed(l)
		}
	}
	return Quote{most, words}, true
}

// allowed describes a limit in a sentence.
func allowed(l limit.Limit) string {
	calls := "calls"
	if l.Max == 1 {
		calls = "call"
	}
	switch l.Period {
	case limit.Lifetime:
		return fmt.Sprintf("At most %d %s in all.", l.Max, calls)
	case limit.Hour:
		return fmt.Sprintf("At most %d %s an hour.", l.Max, calls)
	default:
		return fmt.Sprintf("At most %d %s a %s.", l.Max, calls, l.Period)
	}
}

// world returns the names that the policy can refer to, as far as agents.json contains them.
func world(catalog *intents.Catalog) odrl.World {
	w := odrl.World{AnyAssignee: true, Hosts: slices.Clone(catalog.Namespaces())}
	for _, in := range catalog.Intents() {
		asset := odrl.Asset{UID: in.UID.String(), Namespace: in.UID.Namespace, Name: in.UID.Name, Title: in.Name}
		if in.Retired {
			w.Retired = append(w.Retired, asset)
		} else {
			w.Intents = append(w.Intents, asset)
		}
	}
	for _, text := range []string{catalog.Service.URL, catalog.PolicyFile, catalog.Discovery, catalog.Execute, catalog.Issuer} {
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			w.Hosts = append(w.Hosts, strings.ToLower(u.Host))
		}
	}
	slices.Sort(w.Hosts)
	w.Hosts = slices.Compact(w.Hosts)
	return w
}
