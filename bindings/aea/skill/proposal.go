package skill

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/bindings/aea/skill/directory"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
	"github.com/uimgate/uimgate/pat"
)

// Names of attributes that occur in queries and in proposals.
const (
	attributeIntent   = "intent_uid"
	attributePrice    = "price"
	attributeCurrency = "currency_id"
	attributeLocation = "location"
)

// maxEstimates limits the intents for which the policy is evaluated for one query.
const maxEstimates = 256

// A wish is an agent's query. left is how many more evaluations of the policy it may cause.
type wish struct {
	of     *service.Service
	agent  pat.AgentID
	query  search.Query
	priced bool // the query mentions prices
	left   int
	*Variables
}

// match returns the first intent in the catalogue that matches the query and that the agent may agree to. If there is none, the error is
// a *reason.Refusal, which states why the first matching intent is not offered.
func (s *Skill) match(ctx context.Context, of *service.Service, agent string, q search.Query) (*service.Intent, service.Estimate, error) {
	w := &wish{of, pat.AgentID(agent), q, q.Mentions(attributePrice) || q.Mentions(attributeCurrency), maxEstimates, s.variables.Load()}
	var refused error
	for _, in := range of.Offered() {
		estimate, matches, err := w.meets(ctx, in)
		if err == nil && matches {
			return in, estimate, nil
		}
		if _, ok := errors.AsType[*pat.PlanError](err); ok {
			err = refusal.For(err)
		}
		if _, ok := errors.AsType[*reason.Refusal](err); err != nil && !ok {
			return nil, service.Estimate{}, err
		}
		if matches && refused == nil {
			refused = err
		}
		if w.left == 0 {
			break
		}
	}
	if refused == nil {
		refused = reason.IntentNotFound.Refusal("No intent of the service matches the query.")
	}
	return nil, service.Estimate{}, refused
}

// meets reports whether an intent matches the query, and returns the terms for the agent. err is why the agent may not agree to the
// intent.
func (w *wish) meets(ctx context.Context, in *service.Intent) (estimate service.Estimate, matches bool, err error) {
	is := w.aliased(describe(in))
	if !w.priced && !w.query.Matches(is) {
		return service.Estimate{}, false, nil
	}
	w.left--
	estimate, err = w.of.Estimate(ctx, w.agent, in.ID)
	if !w.priced {
		return estimate, true, err
	}
	if err == nil {
		total, _ := estimate.Charge.Minor()
		is[attributePrice] = []search.Value{search.Int(total)}
		is[attributeCurrency] = []search.Value{search.Text(estimate.Charge.Currency)}
	}
	return estimate, w.query.Matches(is), err
}

// describe returns the description of an intent without its price, in the data model uim_intent.
func describe(in *service.Intent) search.Attributes {
	is := search.Attributes{
		attributeIntent: {search.Text(in.ID)}, "intent_name": {search.Text(in.Name)}, "namespace": {search.Text(in.UID.Namespace)},
		"version": {search.Text(in.UID.Version)},
	}
	for name, text := range map[string]string{"category": in.Category, "description": in.Description} {
		if text != "" {
			is[name] = []search.Value{search.Text(text)}
		}
	}
	for _, tag := range in.Tags {
		is[directory.AttributeTags] = append(is[directory.AttributeTags], search.Text(tag))
	}
	return is
}

// aliased adds the location and the further names of attributes to the description of an intent.
func (v *Variables) aliased(is search.Attributes) search.Attributes {
	for name, of := range v.Attributes {
		if values := is[of]; len(values) > 0 {
			is[name] = values
		}
	}
	is[attributeLocation] = []search.Value{v.Location}
	return is
}

// registered returns the description of an intent for a directory. Tags are one string there, and the location is a separate description.
func registered(is search.Attributes) search.Description {
	var values []search.KeyValue
	for _, name := range slices.Sorted(maps.Keys(is)) {
		switch name {
		case attributeLocation:
		case directory.AttributeTags:
			var tags []string
			for _, tag := range is[name] {
				if text, ok := tag.(search.Text); ok {
					tags = append(tags, string(text))
				}
			}
			values = append(values, search.KeyValue{Key: name, Value: search.Text(strings.Join(tags, ","))})
		default:
			values = append(values, search.KeyValue{Key: name, Value: is[name][0]})
		}
	}
	return search.Describe(directory.ModelIntent, values...)
}

// propose returns the description of an offer, in the data model uim_offer. The price is for quantity calls, in minor units of the
// currency, so that it is always an integer.
func propose(s *service.Service, o offer, terms service.Estimate) search.Description {
	policy := s.Offer()
	price, quantity := terms.Charge.Minor()
	ledger, ok := identity.LedgerOf(o.in.Opponent)
	if !ok {
		ledger = identity.Fetchai
	}
	text := func(name, value string) search.KeyValue { return search.KeyValue{Key: name, Value: search.Text(value)} }
	number := func(name string, value int64) search.KeyValue {
		return search.KeyValue{Key: name, Value: search.Int(value)}
	}
	return search.Describe("uim_offer",
		text("service_id", o.intent), number("quantity", quantity), number(attributePrice, price),
		text(attributeCurrency, terms.Charge.Currency), text("ledger_id", string(ledger)), text("tx_nonce", o.nonce),
		text("policy_url", s.At("/api/policy")), text("policy_sha256", policy.SHA256()), text("policy_uid", policy.UID),
		text("scope", strings.Join([]string{o.intent, "execute"}, ":")), number("rate_limit", terms.Rate.Max),
		number("rate_period", terms.Rate.Period.Seconds()), number("valid_until", o.until.Unix()), text("iss", s.Issuer),
		text("execute_url", s.At("/api/intents/execute")),
	)
}

// satisfies reports whether a counter-offer asks for no more than the offer gives: it pays at least as much for at most as many calls,
// and leaves the rest unchanged. It may omit attributes that it does not change.
func satisfies(counter, own search.Description) bool {
	for _, v := range counter.Values {
		offered := own.Value(v.Key)
		amount, whole := v.Value.(search.Int)
		if given, ok := offered.(search.Int); ok && whole {
			switch {
			case v.Key == attributePrice && amount >= given, v.Key == "quantity" && amount > 0 && amount <= given:
				continue
			}
		}
		if offered == nil || offered != v.Value {
			return false
		}
	}
	return len(counter.Values) > 0
}
