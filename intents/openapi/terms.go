package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents/openapi/read"
	"github.com/uimgate/uimgate/internal/money"
)

// The initial limits of the policy, for each intent and agent.
const (
	readsPerHour  = 1000
	writesPerHour = 60
	// maxTargets bounds the intents that the policy lists individually, because each pair of rules is compared when a policy is published. If
	// there are more, the policy has one limit over all intents together.
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

// charges holds the prices of the offered operations.
type charges struct {
	of       map[string]money.Amount // the prices by UID
	currency string
	highest  money.Amount
}

// charges collects the prices of the offered operations. All prices must be in one currency, because an agent has credit in only one
// currency; otherwise the error wraps ErrCuration.
func (i *Import) charges() (charges, error) {
	out := charges{of: map[string]money.Amount{}}
	offered := map[string]bool{}
	for _, in := range i.Intents {
		offered[in.UID.String()] = true
	}
	for _, key := range slices.Sorted(maps.Keys(i.curation.file.Operations)) {
		o := i.curation.file.Operations[key]
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

// policy returns a policy that permits every intent in agents that is not retired. Intents that change nothing have a higher limit, and
// calls of all others are logged. A call of an intent with a price in the curation costs that price; all other calls are free. Each intent
// has a separate counter, unless there are more than maxTargets intents.
func (i *Import) policy(agents map[string]any, prices charges) ([]byte, error) {
	uid := "https://" + i.Namespace + "/policy/1"
	var reads, writes []string
	priced := map[money.Amount][]string{}
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
		if price, costs := prices.of[name]; costs {
			priced[price] = append(priced[price], name)
			continue
		}
		if safe {
			reads = append(reads, name)
		} else {
			writes = append(writes, name)
		}
	}
	limit := func(n int) []map[string]any {
		return []map[string]any{{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": n, "unit": "hour"}}
	}
	logged := []map[string]string{{"action": "logUsage"}}
	p := odrlPolicy{Context: "http://www.w3.org/ns/odrl.jsonld", Type: "Set", UID: uid, Profile: "http://example.com/profile/odrl-uim"}
	if len(reads)+len(writes) > maxTargets {
		if len(priced) > 0 {
			return nil, fmt.Errorf("%w: %s: prices are supported for at most %d offered intents: hide some intents",
				ErrCuration, CurationFile, maxTargets)
		}
		all := []string{"https://" + i.Namespace + "/api/intents"}
		p.Permission = append(p.Permission,
			odrlPermission{UID: uid + "#all", Target: all, Action: "execute", Constraint: limit(readsPerHour), Duty: logged})
		reads, writes = nil, nil
	}
	if len(reads) > 0 {
		p.Permission = append(p.Permission,
			odrlPermission{UID: uid + "#reads", Target: reads, Action: "execute", Constraint: limit(readsPerHour)})
	}
	if len(writes) > 0 {
		p.Permission = append(p.Permission, odrlPermission{
			UID: uid + "#writes", Target: writes, Action: "execute", Constraint: limit(writesPerHour), Duty: logged,
		})
	}
	byAmount := func(a, b money.Amount) int { return cmp.Compare(a.Nano, b.Nano) }
	for n, price := range slices.SortedFunc(maps.Keys(priced), byAmount) {
		rule := fmt.Sprintf("%s#price-%d", uid, n+1)
		p.Permission = append(p.Permission, odrlPermission{
			UID: rule, Target: priced[price], Action: "execute", Constraint: limit(writesPerHour),
			Duty: append([]map[string]string{{
				"uid": rule + "-fee", "action": "pay", "target": "http://example.com/vocab/intentPrice", "amount": price.Decimal(),
				"unit": "http://example.com/vocab/" + price.Currency,
			}}, logged...),
		})
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", PolicyFile, err)
	}
	return append(data, '\n'), nil
}
