package page

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/odrl"
)

const (
	summarised   = 1000 // intents whose terms are summarized
	summaryLines = 8
	termsOfOne   = 3 // the maximum number of terms that are listed for one intent without plans
)

// ShortTerms summarizes the terms of an intent for agents that the policy does not name, for example "free, 600 calls an hour". The summary
// omits conditions and duties. Only the policy is binding.
func ShortTerms(ctx context.Context, s *service.Definition, in *service.Intent) string {
	return shortTerms(ctx, s, in, func(odrl.Candidate) bool { return true })
}

// freeTerms is like ShortTerms, but considers only the free permissions. If there are none, it considers all permissions.
func freeTerms(ctx context.Context, s *service.Definition, in *service.Intent) string {
	return shortTerms(ctx, s, in, func(c odrl.Candidate) bool { return c.Charge.IsZero() })
}

// paidTerms is like ShortTerms, but considers only the permissions that charge in a currency.
func paidTerms(ctx context.Context, s *service.Definition, in *service.Intent, currency string) string {
	return shortTerms(ctx, s, in, func(c odrl.Candidate) bool { return !c.Charge.IsZero() && c.Charge.Currency == currency })
}

// charges reports whether each call to an intent has a price for agents that the policy does not name.
func charges(ctx context.Context, s *service.Definition, in *service.Intent) bool {
	terms, err := s.Policy.Terms(ctx, odrl.Request{Intent: in.UID.String()})
	return err == nil && terms.Permitted && len(terms.Candidates) > 0 &&
		!slices.ContainsFunc(terms.Candidates, func(c odrl.Candidate) bool { return c.Charge.IsZero() })
}

func shortTerms(ctx context.Context, s *service.Definition, in *service.Intent, chosen func(odrl.Candidate) bool) string {
	terms, err := s.Policy.Terms(ctx, odrl.Request{Intent: in.UID.String()})
	if err != nil || !terms.Permitted {
		return "only for agents that the policy names"
	}
	candidates := terms.Candidates
	if slices.ContainsFunc(candidates, chosen) {
		candidates = slices.DeleteFunc(slices.Clone(candidates), func(c odrl.Candidate) bool { return !chosen(c) })
	}
	var ways []string
	most := termsOfOne
	for _, c := range candidates {
		way := costWords(c)
		if len(c.Plans) > 0 {
			way, most = "with the plan "+strings.Join(c.Plans, " or ")+": "+way, len(candidates)
		}
		if !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	if len(ways) > most {
		ways = append(ways[:most], "other terms")
	}
	return strings.Join(ways, "; or ")
}

// costWords describes the price and the limits of a permission, such as "0.10 EUR a call, 600 calls an hour".
func costWords(c odrl.Candidate) string {
	parts := []string{"free"}
	if !c.Charge.IsZero() {
		parts[0] = c.Charge.String() + " a call"
	}
	for _, l := range c.Limits {
		parts = append(parts, ShortRate(l.Rate))
	}
	return strings.Join(parts, ", ")
}

// ShortRate describes a rate in a few words, such as "600 calls an hour".
func ShortRate(r limit.Rate) string {
	n := strconv.FormatInt(r.Max, 10) + " calls "
	switch {
	case r.Period == limit.Lifetime:
		return n + "in all"
	case r.Period.Calendar():
		return n + "a calendar " + string(r.Period)
	case r.Period == "hour":
		return n + "an hour"
	default:
		return n + "a " + string(r.Period)
	}
}

// A summaryView is the number of intents with the same terms and the same Safe.
type summaryView struct {
	Count int
	Safe  bool
	Terms string
}

// summary returns the most common terms of the first intents, most common first. more is the number of offered intents that lines does not
// count.
func summary(ctx context.Context, s *service.Definition, offered []*service.Intent) (lines []summaryView, more int) {
	counts := map[summaryView]int{}
	for _, in := range offered[:min(len(offered), summarised)] {
		counts[summaryView{Safe: in.Safe, Terms: ShortTerms(ctx, s, in)}]++
	}
	for line, n := range counts {
		line.Count = n
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b summaryView) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Terms, b.Terms), strings.Compare(word(b.Safe), word(a.Safe)))
	})
	lines = lines[:min(len(lines), summaryLines)]
	more = len(offered)
	for _, line := range lines {
		more -= line.Count
	}
	return lines, more
}

func word(safe bool) string { return strconv.FormatBool(safe) }
