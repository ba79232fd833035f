package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents/openapi/read"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
)

// The initial limits of the policy, for each intent and agent.
const (
	readsPerHour  = 1000
	writesPerHour = 60
	// maxTargets is the maximum number of intents that the policy lists individually, because each pair of rules is compared when a policy is
	// published. If there are more, the policy has one limit over all intents together.
	maxTargets = 2000
)

type odrlPolicy struct {
	Context    string           `json:"@context"`
	Type       string           `json:"type"`
	UID        string           `json:"uid"`
	Profile    string           `json:"profile"`
	Permission []odrlPermission `json:"permission"`
}

type odrlPermission struct {
	UID        string              `json:"uid"`
	Target     []string            `json:"target"`
	Action     string              `json:"action"`
	Constraint []map[string]any    `json:"constraint"`
	Duty       []map[string]string `json:"duty,omitempty"`
}

// charges holds the prices and limits of the offered operations.
type charges struct {
	of       map[string]money.Amount // the prices by UID
	limits   map[string]limit.Rate   // the limits of the curation by UID
	currency string
	highest  money.Amount
}

// charges collects the prices and limits of the operations whose intents in agents are not retired. All prices must be in one currency,
// because an agent has credit in only one currency; otherwise the error wraps ErrCuration.
func (i *Import) charges(agents map[string]any) (charges, error) {
	out := charges{of: map[string]money.Amount{}, limits: map[string]limit.Rate{}}
	offered := map[string]bool{}
	for _, v := range read.List(agents["intents"]) {
		in := read.Object(v)
		offered[read.Text(in["intent_uid"])] = !read.Flag(in["retired"])
	}
	for _, key := range slices.Sorted(maps.Keys(i.curation.file.Operations)) {
		o := i.curation.file.Operations[key]
		if offered[o.UID] && o.Limit.Period != "" {
			out.limits[o.UID] = o.Limit
		}
		if o.Price.IsZero() || !offered[o.UID] {
			continue
		}
		if out.currency != "" && o.Price.Currency != out.currency {
			return charges{}, fmt.Errorf("%w: %s: there are prices in %s and %s: all prices must be in the same currency",
				ErrCuration, CurationFile, out.currency, o.Price.Currency)
		}
		out.of[o.UID], out.currency = o.Price, o.Price.Currency
		if o.Price.Nano > out.highest.Nano {
			out.highest = o.Price
		}
	}
	return out, nil
}

// policy returns a policy that permits every intent in agents that is not retired. A call to an intent with a price in the curation costs
// that price; all other calls are free. Free intents that change nothing have a higher limit, and calls to all other intents are logged. A
// limit in the curation replaces the initial one. Each intent has a separate counter. If there are more than maxTargets intents, one rule
// with the higher limit applies to all, and all calls are logged.
func (i *Import) policy(agents map[string]any, prices charges) (*odrlPolicy, error) {
	uid := "https://" + i.Namespace + "/policy/1"
	var reads, writes []string
	priced := map[money.Amount][]string{}
	limited := map[ownTerms][]string{}
	for _, v := range read.List(agents["intents"]) {
		in := read.Object(v)
		name := read.Text(in["intent_uid"])
		if name == "" {
			name = read.Text(in["uid"])
		}
		if name == "" || read.Flag(in["retired"]) {
			continue
		}
		method := strings.ToUpper(read.Text(read.Object(in["endpoint"])["method"]))
		safe, stated := in["safe"].(bool)
		if !stated {
			safe = method == "GET" || method == "HEAD"
		}
		price, costs := prices.of[name]
		if rate, own := prices.limits[name]; own {
			key := ownTerms{price, rate, safe && !costs}
			limited[key] = append(limited[key], name)
			continue
		}
		if costs {
			priced[price] = append(priced[price], name)
			continue
		}
		if safe {
			reads = append(reads, name)
		} else {
			writes = append(writes, name)
		}
	}
	perHour := func(n int64) []map[string]any { return rateLimit(limit.Rate{Max: n, Period: limit.Hour}) }
	logged := []map[string]string{{"action": "logUsage"}}
	p := &odrlPolicy{Context: "http://www.w3.org/ns/odrl.jsonld", Type: "Set", UID: uid, Profile: "http://example.com/profile/odrl-uim"}
	if len(reads)+len(writes) > maxTargets {
		if len(priced)+len(limited) > 0 {
			return nil, fmt.Errorf("%w: %s: prices and limits are supported for at most %d offered intents: hide some intents",
				ErrCuration, CurationFile, maxTargets)
		}
		all := []string{"https://" + i.Namespace + "/api/intents"}
		p.Permission = append(p.Permission,
			odrlPermission{UID: uid + "#all", Target: all, Action: "execute", Constraint: perHour(readsPerHour), Duty: logged})
		reads, writes = nil, nil
	}
	if len(reads) > 0 {
		p.Permission = append(p.Permission,
			odrlPermission{UID: uid + "#reads", Target: reads, Action: "execute", Constraint: perHour(readsPerHour)})
	}
	if len(writes) > 0 {
		p.Permission = append(p.Permission, odrlPermission{
			UID: uid + "#writes", Target: writes, Action: "execute", Constraint: perHour(writesPerHour), Duty: logged,
		})
	}
	byAmount := func(a, b money.Amount) int { return cmp.Compare(a.Nano, b.Nano) }
	for n, price := range slices.SortedFunc(maps.Keys(priced), byAmount) {
		rule := fmt.Sprintf("%s#price-%d", uid, n+1)
		p.Permission = append(p.Permission, odrlPermission{
			UID: rule, Target: priced[price], Action: "execute", Constraint: perHour(writesPerHour),
			Duty: append([]map[string]string{payment(rule, price)}, logged...),
		})
	}
	for n, own := range slices.SortedFunc(maps.Keys(limited), ownTerms.compare) {
		rule := odrlPermission{
			UID: fmt.Sprintf("%s#limit-%d", uid, n+1), Target: limited[own], Action: "execute", Constraint: rateLimit(own.rate), Duty: logged,
		}
		switch {
		case !own.price.IsZero():
			rule.Duty = append([]map[string]string{payment(rule.UID, own.price)}, logged...)
		case own.reads:
			rule.Duty = nil
		}
		p.Permission = append(p.Permission, rule)
	}
	return p, nil
}

// ownTerms are the terms of intents with a limit in the curation.
type ownTerms struct {
	price money.Amount
	rate  limit.Rate
	reads bool // free calls that change nothing
}

func (a ownTerms) compare(b ownTerms) int {
	text := func(t ownTerms) string { return fmt.Sprint(t.rate.Period, " ", t.reads) }
	return cmp.Or(cmp.Compare(a.price.Nano, b.price.Nano), cmp.Compare(a.rate.Max, b.rate.Max), cmp.Compare(text(a), text(b)))
}

func rateLimit(r limit.Rate) []map[string]any {
	return []map[string]any{{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": r.Max, "unit": string(r.Period)}}
}

// payment returns the duty of a rule to pay a price.
func payment(rule string, price money.Amount) map[string]string {
	return map[string]string{
		"uid": rule + "-fee", "action": "pay", "target": "http://example.com/vocab/intentPrice", "amount": price.Decimal(),
		"unit": "http://example.com/vocab/" + price.Currency,
	}
}

// text returns the policy as a file.
func (p *odrlPolicy) text() ([]byte, error) {
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", PolicyFile, err)
	}
	return append(data, '\n'), nil
}
