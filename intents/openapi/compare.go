package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
)

// Terms are the terms of one intent under a policy, for an agent that the policy does not name.
type Terms struct {
	Permitted bool
	// Covered means that the policy decides about the intent: it permits the intent, at least to some agents, or forbids it.
	Covered bool
	// Certain means that there is one permission with at most one limit. Price and Limit then do not depend on the call.
	Certain bool
	Price   money.Amount // zero: free
	Limit   limit.Rate   // zero: none
}

// Changes returns the differences between t and later terms, for people, such as "price 0.20 EUR → 0.05 EUR".
func (t Terms) Changes(later Terms) (out []string) {
	if t.Price != later.Price {
		out = append(out, fmt.Sprintf("price %s → %s", orNone(t.Price.IsZero(), t.Price), orNone(later.Price.IsZero(), later.Price)))
	}
	if t.Limit != later.Limit {
		out = append(out, fmt.Sprintf("limit %s → %s", orNone(t.Limit.Period == "", t.Limit), orNone(later.Limit.Period == "", later.Limit)))
	}
	return out
}

// String returns the price and the limit for people, such as "0.20 EUR, 60/hour".
func (t Terms) String() string {
	if !t.Certain {
		return "price and limit depend on the call"
	}
	price, rate := "free", "without limit"
	if !t.Price.IsZero() {
		price = t.Price.String()
	}
	if t.Limit.Period != "" {
		rate = t.Limit.String()
	}
	return price + ", " + rate
}

func orNone(none bool, v fmt.Stringer) string {
	if none {
		return "none"
	}
	return v.String()
}

// Lines returns a line for each intent with its text. Versions of one intent with the same text share a line, such as
// "shop.example:order:v1 and v2: text". Intents with an empty text have no line.
func Lines(uids []string, text func(uid string) string) (out []string) {
	type key struct{ name, text string }
	var order []key
	versions := map[key][]string{}
	for _, uid := range uids {
		line := text(uid)
		if line == "" {
			continue
		}
		name, version := uid, ""
		if at := strings.LastIndexByte(uid, ':'); at >= 0 {
			name, version = uid[:at], uid[at+1:]
		}
		k := key{name, line}
		if versions[k] == nil {
			order = append(order, k)
		}
		versions[k] = append(versions[k], version)
	}
	for _, k := range order {
		list := versions[k]
		slices.SortFunc(list, compareVersions)
		uids := k.name
		if list[0] != "" {
			uids += ":" + list[0]
		}
		if last := len(list) - 1; last > 0 {
			uids = strings.Join(append([]string{uids}, list[1:last]...), ", ") + " and " + list[last]
		}
		out = append(out, uids+": "+k.text)
	}
	return out
}

// compareVersions orders versions by their major number, so that v10 follows v9.
func compareVersions(a, b string) int {
	if n := majorNumber(a) - majorNumber(b); n != 0 {
		return n
	}
	return strings.Compare(a, b)
}
