package gateway

import (
	"context"
	"strings"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
)

// Offer is the policy that agents sign.
func (s *Service) Offer() pat.Offer { return s.policy }

// Past are the policies offered before.
func (s *Service) Past() []pat.Offer { return s.past }

// An agreeing agent is who asks for terms.
type agreeing struct {
	agentID, keyID string
	key            []byte // DER SubjectPublicKeyInfo; nil only where the policy names no keys
}

type termsKey struct{ agent, key, intent string }

// termsFor is what the policy asks of an agent for one intent, before any call.
func (s *Service) termsFor(ctx context.Context, who agreeing, uid string) (odrl.Terms, error) {
	key := termsKey{who.agentID, who.keyID, uid}
	if !s.personal { // the same for everybody
		key.agent, key.key = "", ""
	}
	if t, ok := s.terms.GetIfPresent(key); ok {
		return t, nil
	}
	t, err := s.Policy.Terms(ctx, odrl.Request{AgentID: who.agentID, KeyID: who.keyID, AgentKey: who.key, Intent: uid})
	if err != nil {
		return odrl.Terms{}, err
	}
	s.terms.Set(key, t)
	return t, nil
}

// Scope is the part of what an agent asks for that the policy can ever permit it under this kind of
// agreement, and the limit that its PAT tells. Decisions are made at each call; the scope narrows them.
func (s *Service) Scope(ctx context.Context, r pat.ScopeRequest) (pat.Scope, error) {
	who := agreeing{r.AgentID, r.KeyID, r.PublicKey}
	asked, omitted := s.asked(r.Requested)
	out := pat.Scope{Omitted: omitted, Limit: s.tokenRate}
	var granted []*offeredIntent
	for _, in := range asked {
		terms, err := s.termsFor(ctx, who, in.UID.String())
		if err != nil {
			return pat.Scope{}, err
		}
		if reason := withheld(in, terms, r.Assurance); reason != "" {
			out.Omitted = append(out.Omitted, pat.Omitted{Entry: entry(in.UID.String()), Reason: string(reason)})
			continue
		}
		granted = append(granted, in)
		out.Entries = append(out.Entries, entry(in.UID.String()))
		for _, c := range terms.Candidates {
			out.Charges = out.Charges || !c.Charge.IsZero()
		}
	}
	out.Omitted = out.Omitted[:min(len(out.Omitted), maxOmitted)]
	covering, ok, err := s.covering(ctx, who, granted)
	if err != nil {
		return pat.Scope{}, err
	}
	if ok {
		out.Limit = covering.Rate
	}
	return out, nil
}

// maxOmitted bounds how many entries that were left out are told.
const maxOmitted = 64

func entry(uid string) string { return uid + ":execute" }

// withheld says why an intent is left out of a scope; empty: it is not.
func withheld(in *offeredIntent, terms odrl.Terms, assurance pat.Assurance) Reason {
	if !terms.Permitted {
		return "INSUFFICIENT_PERMISSIONS"
	}
	if assurance != pat.Static {
		return ""
	}
	free := false
	for _, c := range terms.Candidates {
		free = free || c.Charge.IsZero()
	}
	if in.freshOnly || terms.NeedsProof || !free {
		return "FRESH_AGREEMENT_REQUIRED"
	}
	return ""
}

// asked lists the intents that the requested entries name; none requested means all.
func (s *Service) asked(requested []string) (asked []*offeredIntent, omitted []pat.Omitted) {
	if len(requested) == 0 {
		for _, in := range s.Catalog.Intents() {
			if !in.Retired {
				asked = append(asked, s.intents[in.UID.String()])
			}
		}
		return asked, nil
	}
	seen := map[string]bool{}
	add := func(in *offeredIntent) {
		if uid := in.UID.String(); !seen[uid] && !in.Retired {
			seen[uid] = true
			asked = append(asked, in)
		}
	}
	for _, e := range requested {
		if namespace, ok := strings.CutSuffix(e, ":*:*:execute"); ok {
			before := len(asked)
			for _, in := range s.Catalog.Intents() {
				if in.UID.Namespace == namespace {
					add(s.intents[in.UID.String()])
				}
			}
			if len(asked) > before {
				continue
			}
		}
		in, ok := s.intents[strings.TrimSuffix(e, ":execute")]
		if !ok || in.Retired {
			omitted = append(omitted, pat.Omitted{Entry: e, Reason: "INTENT_NOT_FOUND"})
			continue
		}
		add(in)
	}
	return asked, omitted
}

// covering is the one limit, the strictest if there are several, under which every one of these intents
// falls whichever permission lets it through. Only a rolling limit can be told as lmt.
func (s *Service) covering(ctx context.Context, who agreeing, granted []*offeredIntent) (limit.Limit, bool, error) {
	var common map[string]limit.Limit
	for n, in := range granted {
		terms, err := s.termsFor(ctx, who, in.UID.String())
		if err != nil {
			return limit.Limit{}, false, err
		}
		of := limitsOf(terms)
		if n > 0 {
			of = inBoth(common, of, func(a, b int64) int64 { return min(a, b) })
		}
		if common = of; len(common) == 0 {
			return limit.Limit{}, false, nil
		}
	}
	var best limit.Limit
	for _, l := range common {
		if best.ID == "" || perSecond(l) < perSecond(best) || (perSecond(l) == perSecond(best) && l.ID < best.ID) {
			best = l
		}
	}
	return best, best.ID != "", nil
}

// limitsOf are the rolling limits that hold for an intent whichever permission lets the call through. Of a
// counter that several permissions share, the largest number is what may be used.
func limitsOf(t odrl.Terms) map[string]limit.Limit {
	var all map[string]limit.Limit
	for n, c := range t.Candidates {
		these := map[string]limit.Limit{}
		for _, l := range c.Limits {
			if old, ok := these[l.ID]; l.Period.Rolling() && (!ok || l.Max < old.Max) {
				these[l.ID] = l
			}
		}
		if n > 0 {
			these = inBoth(all, these, func(a, b int64) int64 { return max(a, b) })
		}
		all = these
	}
	return all
}

// inBoth are the counters that stand in both, with the number that which picks of the two.
func inBoth(a, b map[string]limit.Limit, which func(a, b int64) int64) map[string]limit.Limit {
	both := map[string]limit.Limit{}
	for id, l := range a {
		if other, ok := b[id]; ok {
			l.Max = which(l.Max, other.Max)
			both[id] = l
		}
	}
	return both
}

func perSecond(l limit.Limit) float64 { return float64(l.Max) / float64(l.Period.Seconds()) }

// tokenLimitID is the counter over all executes of an agent, where lmt is no limit of the policy.
const tokenLimitID = "pat"

// tokenLimit is the limit a PAT itself carries, unless it is one of the policy, which counts by itself. agreed is
// asked for the key of the agreement where the terms hang on it.
func (s *Service) tokenLimit(ctx context.Context, c *pat.Claims, agreed func() (pat.Key, error)) (*limit.Limit, error) {
	if l, ok := s.tokenLimits.GetIfPresent(c.ID); ok {
		return l, nil
	}
	granted, _ := s.asked(c.Scope)
	who := agreeing{agentID: c.Subject, keyID: c.KeyID}
	if s.Policy.NamesKeys() {
		key, err := agreed()
		if err != nil {
			return nil, err
		}
		who.key = key.SPKI()
	}
	covering, ok, err := s.covering(ctx, who, granted)
	if err != nil {
		return nil, err
	}
	var own *limit.Limit
	if !ok || covering.Rate != c.Limit {
		own = &limit.Limit{ID: tokenLimitID, Rate: c.Limit}
	}
	s.tokenLimits.Set(c.ID, own)
	return own, nil
}
