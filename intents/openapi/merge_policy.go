package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/uimgate/uimgate/intents/openapi/curation"
	"github.com/uimgate/uimgate/intents/openapi/terms"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
)

// Terms are the terms of one intent under a policy, for an agent that the policy does not name.
type Terms struct {
	Permitted bool
	// Certain means that there is one permission with at most one limit, so that Price and Limit do not depend on the call.
	Certain bool
	Price   money.Amount // zero: free
	Limit   limit.Rate   // zero: none
}

// Adopt copies prices and limits that people have changed in the existing policy into the curation. live are the terms under that policy,
// by UID. If people have changed the curation since the last run as well, the curation takes precedence. Adopt must be called before
// Update.
func (i *Import) Adopt(existing map[string][]byte, live map[string]Terms) {
	last := i.curation.last
	if have := existing[PolicyFile]; have == nil || digest(have) == last.Files[PolicyFile] {
		return
	}
	offered := map[string]Intent{}
	for _, in := range i.Intents {
		offered[in.UID.String()] = in
	}
	for _, key := range slices.Sorted(maps.Keys(i.curation.file.Operations)) {
		o := i.curation.file.Operations[key]
		in, is := offered[o.UID]
		now := live[o.UID]
		if !is && o.Hidden == curation.Hidden || !now.Permitted || !now.Certain || last.Terms != nil && last.Terms[key] != termsText(o) {
			continue
		}
		before := o
		o.Price = now.Price
		initial := initialLimit(in.Safe, o.Price)
		switch {
		case now.Limit == initial:
			o.Limit = limit.Rate{}
		case now.Limit.Period != "":
			o.Limit = now.Limit
		}
		if o != before {
			i.curation.file.Operations[key] = o
			i.curation.messages = append(i.curation.messages,
				fmt.Sprintf("%s: %s gets the price and the limit of %s", o.UID, CurationFile, PolicyFile))
		}
	}
}

// initialLimit is the limit of an intent without a limit in the curation.
func initialLimit(safe bool, price money.Amount) limit.Rate {
	if safe && price.IsZero() {
		return limit.Rate{Max: readsPerHour, Period: limit.Hour}
	}
	return limit.Rate{Max: writesPerHour, Period: limit.Hour}
}

// termsText returns the price and the limit of an operation, or "" if it has neither.
func termsText(o curation.Operation) string {
	text := ""
	if !o.Price.IsZero() {
		text = o.Price.String()
	}
	if o.Limit.Period != "" {
		text += " " + o.Limit.String()
	}
	return text
}

// curatedTerms returns the prices and limits in the curation, by key.
func (i *Import) curatedTerms() map[string]string {
	out := map[string]string{}
	for key, o := range i.curation.file.Operations {
		if text := termsText(o); text != "" {
			out[key] = text
		}
	}
	return out
}

// mergePolicy merges the generated policy into the existing one, if people have edited it and Options.Merge is set. It returns false if the
// caller must write the generated policy, whose text is data. agents is the new agents.json.
func (u *update) mergePolicy(generated *odrlPolicy, prices charges, data, agents []byte, replaced lineage) bool {
	have := u.existing[PolicyFile]
	if u.options.Merge == nil || have == nil || digest(have) == u.last.Files[PolicyFile] || digest(have) == digest(data) {
		return false
	}
	note := func(format string, args ...any) {
		u.result.Messages = append(u.result.Messages, PolicyFile+": "+fmt.Sprintf(format, args...))
	}
	live := u.options.Merge(agents)
	if live == nil {
		note("not merged, because the configuration has errors")
		return false
	}
	policy, err := terms.Read(have)
	if err != nil {
		note("not merged: %v", err)
		return false
	}
	before := map[string]string{} // the intent that another replaces, by successor
	for uid, next := range replaced {
		if policy.Names(uid) {
			before[next] = uid
		}
	}
	for _, rule := range generated.Permission {
		var fresh []string
		for _, uid := range rule.Target {
			now, known := live[uid]
			price, rate := prices.of[uid], prices.limits[uid]
			same := now.Price == price && (rate.Period == "" || now.Limit == rate)
			switch {
			case !known, now.Permitted && (same || !now.Certain):
			case now.Permitted:
				if err := policy.Set(uid, price, rate); err != nil {
					note("%s keeps its terms: %v", uid, err)
				} else {
					note("%s gets the price and the limit of %s", uid, CurationFile)
				}
			case before[uid] != "":
				policy.Extend(uid, before[uid])
				note("%s gets the terms of %s", uid, before[uid])
			default:
				fresh = append(fresh, uid)
			}
		}
		if len(fresh) == 0 {
			continue
		}
		tree, err := ruleTree(rule)
		if err != nil {
			note("not merged: %v", err)
			return false
		}
		policy.Permit(tree, fresh)
		for _, uid := range fresh {
			note("permits %s", uid)
		}
	}
	merged, err := policy.Bytes()
	if err != nil {
		note("not merged: %v", err)
		return false
	}
	u.result.Write[PolicyFile] = merged
	u.fresh.Files[PolicyFile] = digest(data)
	return true
}

// ruleTree returns a rule as a tree.
func ruleTree(rule odrlPermission) (tree map[string]any, err error) {
	data, err := json.Marshal(rule)
	if err != nil {
		return nil, err
	}
	return tree, json.Unmarshal(data, &tree)
}
