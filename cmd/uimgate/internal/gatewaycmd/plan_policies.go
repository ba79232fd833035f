package gatewaycmd

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/intents/openapi"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/problem"
)

// A policyPlan describes the changes of a plan to one policy, in lines for people.
type policyPlan struct {
	heading string
	inForce bool
	added   []string // new permissions
	changed []string // changed prices and limits, to which agents must agree again
	kept    []string // prices and limits that differ from the curation
}

// policyPlans compares the new terms under each policy with the present ones. Policies that do not change, and have no terms that differ
// from the curation, have no lines.
func (p *plan) policyPlans(before, planned []*terms, merged bool) (out []policyPlan) {
	for n, t := range planned {
		at := slices.IndexFunc(before, func(b *terms) bool { return b.file == t.file })
		if at < 0 || before[at].of == nil || t.of == nil {
			continue
		}
		was, uids := before[at].of, slices.Sorted(maps.Keys(t.of))
		one := policyPlan{heading: t.heading(len(planned)), inForce: n == 0}
		one.added = openapi.Lines(uids, func(uid string) string {
			if was[uid].Permitted || !t.of[uid].Permitted {
				return ""
			}
			if like := p.result.Like[t.file][uid]; like != "" {
				return t.of[uid].String() + ", like " + like
			}
			return t.of[uid].String()
		})
		one.changed = openapi.Lines(uids, func(uid string) string {
			what := was[uid].Changes(t.of[uid])
			if !was[uid].Permitted || !t.of[uid].Permitted || what == nil {
				return ""
			}
			return strings.Join(what, ", ") + "; agents must agree again"
		})
		if n > 0 && merged {
			one.kept = openapi.Lines(uids, func(uid string) string { return p.difference(t, uid) })
		}
		out = append(out, one)
	}
	return out
}

// heading returns the name of a policy and, if there are several, its date.
func (t *terms) heading(policies int) string {
	switch {
	case !t.from.IsZero():
		return t.file + ", from " + t.from.UTC().Format(time.RFC3339)
	case policies > 1:
		return t.file + ", in force"
	default:
		return t.file
	}
}

func (o *policyPlan) print(w io.Writer) {
	if len(o.added)+len(o.changed)+len(o.kept) == 0 {
		return
	}
	fmt.Fprintf(w, "  %s:\n", cli.Sanitize(o.heading))
	for _, text := range o.added {
		fmt.Fprintf(w, "    + permits %s\n", cli.Sanitize(text))
	}
	for _, text := range o.changed {
		fmt.Fprintf(w, "    ! %s\n", cli.Sanitize(text))
	}
	for _, text := range o.kept {
		fmt.Fprintf(w, "    = %s; not changed\n", cli.Sanitize(text))
	}
}

// difference describes how the terms of an intent under a policy differ from those of the curation. It returns "" if they do not differ, or
// depend on the call.
func (p *plan) difference(t *terms, uid string) string {
	now := t.of[uid]
	if !now.Permitted || !now.Certain {
		return ""
	}
	var out []string
	if price := p.result.Prices[uid]; now.Price != price {
		out = append(out, fmt.Sprintf("%s charges %s, %s has %s", t.file, priceText(now.Price), openapi.CurationFile, priceText(price)))
	}
	if rate, own := p.result.Limits[uid]; own && now.Limit != rate {
		limited := "no limit"
		if now.Limit.Period != "" {
			limited = "the limit " + now.Limit.String()
		}
		out = append(out, fmt.Sprintf("%s has %s, %s has %s", t.file, limited, openapi.CurationFile, rate))
	}
	return strings.Join(out, "; ")
}

// missing lists the work that a plan leaves to people. This work concerns intents that no permission covers, terms of the policy in force
// that differ from the curation, and settings of an intent that its next version lacks. merged is true if init has merged the policies as
// far as possible.
func (p *plan) missing(planned []*terms, merged bool) (out []string) {
	if failed := firstError(planned[0].problems); failed != "" {
		return []string{"the terms cannot be compared: " + failed}
	}
	t := planned[0]
	advice := ": use --merge to make them equal"
	if merged {
		advice = ": edit one of the two"
	}
	out = openapi.Lines(slices.Sorted(maps.Keys(t.of)), func(uid string) string {
		if text := p.difference(t, uid); text != "" {
			return text + advice
		}
		return ""
	})
	for _, t := range planned {
		out = append(out, t.uncovered(planned, merged)...)
	}
	for _, c := range p.result.Changes {
		if c.Kind != openapi.Replaced {
			continue
		}
		if _, had := t.settings[c.UID]; !had {
			continue
		}
		if _, has := t.settings[c.Successor]; !has {
			out = append(out, fmt.Sprintf("%s has settings for %s: copy them for %s", openapi.ConfigFile, c.UID, c.Successor))
		}
	}
	return out
}

// uncovered lists the intents that the policy does not cover. One line names those that no policy permits, and another line those that
// another policy permits.
func (t *terms) uncovered(all []*terms, merged bool) (out []string) {
	if failed := firstError(t.problems); failed != "" {
		return []string{t.file + " cannot be checked: " + failed}
	}
	var nowhere, here []string
	for _, uid := range slices.Sorted(maps.Keys(t.of)) {
		switch {
		case t.of[uid].Permitted || t.of[uid].Covered:
		case slices.ContainsFunc(all, func(o *terms) bool { return o.of[uid].Permitted }):
			here = append(here, uid)
		default:
			nowhere = append(nowhere, uid)
		}
	}
	if len(nowhere) > 0 {
		advice := "use --merge to add permissions"
		if merged {
			advice = "add permissions to this file"
		}
		out = append(out, fmt.Sprintf("%s permits no call to: %s: %s", t.file, strings.Join(nowhere, ", "), advice))
	}
	if len(here) > 0 {
		out = append(out, fmt.Sprintf("%s permits no call to: %s: another policy does, so --merge adds no permission: add one if this is not intended",
			t.file, strings.Join(here, ", ")))
	}
	return out
}

// firstError returns the first error among the problems, or "".
func firstError(problems config.Problems) string {
	for _, p := range problems {
		if p.Level == problem.Error {
			return p.String()
		}
	}
	return ""
}

func priceText(price money.Amount) string {
	if price.IsZero() {
		return "no price"
	}
	return price.String()
}
