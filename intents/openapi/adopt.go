package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents/openapi/curation"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
)

// Adopt copies into the curation the prices and limits that people have changed in the policy in force. live holds the terms under that
// policy, by UID. If people have changed the curation since the last run as well, the curation takes precedence. If the curation has no
// limit, Adopt copies the limit of the policy, so that Update keeps that limit. Adopt must be called before Update.
func (i *Import) Adopt(existing map[string][]byte, live map[string]Terms) {
	last, name := i.curation.last, i.inForce()
	if have := existing[name]; have == nil || digest(have) == last.Files[PolicyFile] {
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
		changed := last.Terms != nil && last.Terms[key] != termsText(o)
		if !is && o.Hidden == curation.Hidden || !now.Permitted || !now.Certain || changed && o.Limit.Period != "" {
			continue
		}
		before := o
		if !changed {
			o.Price = now.Price
		}
		initial := initialLimit(in.Safe, o.Price)
		switch {
		case now.Limit == initial:
			o.Limit = limit.Rate{}
		case now.Limit.Period != "":
			o.Limit = now.Limit
		}
		if o == before {
			continue
		}
		i.curation.file.Operations[key] = o
		if what := curatedTermsOf(before, in.Safe).Changes(curatedTermsOf(o, in.Safe)); what != nil {
			i.curation.messages = append(i.curation.messages,
				fmt.Sprintf("%s: %s: %s, as in %s", CurationFile, o.UID, strings.Join(what, ", "), name))
		}
	}
}

// inForce returns the name of the policy that is in force.
func (i *Import) inForce() string {
	if len(i.options.Policies) > 0 {
		return i.options.Policies[0]
	}
	return PolicyFile
}

// initialLimit is the limit of an intent without a limit in the curation.
func initialLimit(safe bool, price money.Amount) limit.Rate {
	if safe && price.IsZero() {
		return limit.Rate{Max: readsPerHour, Period: limit.Hour}
	}
	return limit.Rate{Max: writesPerHour, Period: limit.Hour}
}

// curatedTermsOf returns the price and the limit that the curation gives to an operation.
func curatedTermsOf(o curation.Operation, safe bool) Terms {
	t := Terms{Price: o.Price, Limit: o.Limit}
	if t.Limit.Period == "" {
		t.Limit = initialLimit(safe, o.Price)
	}
	return t
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
