package service

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/cache"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// terms implements pat.Terms: it evaluates the policy of one version of a service for the issuance of tokens, without a call.
type terms struct {
	*Definition
	dated    []pat.DatedOffer
	past     history
	versions []*terms                           // this version, and the later ones
	limits   *cache.Cache[string, *limit.Limit] // by jti
}

// newTerms returns the terms of a version of a service. The cache is large enough for 100,000 tokens in use.
func newTerms(d *Definition, past history, successors []*terms) *terms {
	t := &terms{
		Definition: d, past: past, limits: cache.New(cache.Options[string, *limit.Limit]{Max: 100_000}),
		dated: []pat.DatedOffer{{Offer: d.offer, From: d.From}},
	}
	t.versions = append([]*terms{t}, successors...)
	for _, next := range successors {
		t.dated = append(t.dated, pat.DatedOffer{Offer: next.offer, From: next.From})
	}
	return t
}

// Offers implements pat.Terms.
func (t *terms) Offers() []pat.DatedOffer { return t.dated }

// Past implements pat.Terms.
func (t *terms) Past() []pat.Offer { return t.past.offers }

// An applicant is an agent that requests a token.
type applicant struct {
	agentID pat.AgentID
	keyID   keys.ID
	plan    string // the plan of the agreement; empty: none
	key     []byte // DER SubjectPublicKeyInfo; nil if the policy names no keys, or the agent has no key
}

// termsFor evaluates the policy for an agent and one intent, without a call.
func (t *terms) termsFor(ctx context.Context, who applicant, uid string) (odrl.Terms, error) {
	request := odrl.Request{AgentID: string(who.agentID), KeyID: string(who.keyID), AgentKey: who.key, Intent: uid}
	if len(t.Policy.Plans()) > 0 {
		request.Facts = map[string]any{odrl.Plan: cmp.Or(who.plan, odrl.NoPlan)}
	}
	return t.Policy.Terms(ctx, request)
}

// Scope returns the part of a requested scope that the policy can permit under an agreement with the assurance of r, and the limit for the
// PAT. A scope does not permit a call: the policy also decides on each call.
func (t *terms) Scope(ctx context.Context, r pat.ScopeRequest) (pat.Scope, error) {
	out := pat.Scope{Limit: t.TokenRate, Plans: t.Plans(cmp.Or(r.PolicyDigest, t.offer.Digest))}
	if len(out.Plans) > 0 {
		switch out.Plan = r.Plan; {
		case r.Plan == "" || slices.Contains(out.Plans, r.Plan):
		case r.PolicyDigest == "" || t.offers(r.PolicyDigest):
			return pat.Scope{}, pat.UnknownPlan(r.Plan, out.Plans)
		default: // a plan of an earlier policy: the agreement holds as without a plan, see PlanOf
			out.Plan = ""
		}
	}
	who := applicant{agentID: r.AgentID, keyID: r.KeyID, key: r.PublicKey, plan: out.Plan}
	requested, omitted := t.requested(r.Requested)
	out.Omitted = omitted
	var granted []grantedIntent
	for _, in := range requested {
		of, agreed := t.issuing(r.PolicyDigest, in.ID)
		terms, err := of.termsFor(ctx, who, in.ID)
		if err != nil {
			return pat.Scope{}, err
		}
		left := omission(in, terms, r)
		if left == reason.InsufficientPermissions && len(of.plansWith(ctx, who, in.ID)) > 0 {
			left = reason.PlanRequired
		}
		if left != "" {
			out.Omitted = append(out.Omitted, pat.OmittedEntry{Entry: entry(in.ID), Reason: left})
			continue
		}
		if !agreed {
			out.Omitted = append(out.Omitted, pat.OmittedEntry{Entry: entry(in.ID), Reason: reason.PolicyRequiresAgreement})
			continue
		}
		granted = append(granted, grantedIntent{in, of})
		out.Entries = append(out.Entries, entry(in.ID))
		for _, c := range terms.Candidates {
			out.Charges = out.Charges || !c.Charge.IsZero()
		}
	}
	out.Omitted = out.Omitted[:min(len(out.Omitted), maxOmitted)]
	strictest, ok, err := covering(ctx, who, granted)
	if err != nil {
		return pat.Scope{}, err
	}
	if ok {
		out.Limit = strictest.Rate
	}
	return out, nil
}

// A grantedIntent is an intent in the scope of a token, and the terms of the version that decides its calls.
type grantedIntent struct {
	*Intent

	of *terms
}

// issuing returns the terms of the version that decides calls to an intent under an agreement. digest is that of the agreed policy; if it
// is empty, the agreement is new. If the agreement does not permit calls to the intent, agreed is false, and the terms are those in force.
func (t *terms) issuing(digest, uid string) (of *terms, agreed bool) {
	if digest == "" {
		return t, true
	}
	if of := t.governing(digest, uid); of != nil {
		return of, true
	}
	return t, false
}

// maxOmitted is the maximum number of omitted entries that Scope lists.
const maxOmitted = 64

func entry(uid string) string { return uid + ":execute" }

// omission returns why a scope omits an intent, or "" if the scope includes it.
func omission(in *Intent, terms odrl.Terms, r pat.ScopeRequest) reason.Reason {
	if !terms.Permitted {
		return reason.InsufficientPermissions
	}
	if !in.allowedBy(r.Assurance, terms, r.Spends) {
		return reason.FreshAgreementRequired
	}
	return ""
}

// requested returns the intents that the entries of a scope name, each once, and the entries that name no intent that can be called. If
// there are no entries, it returns all intents that are not retired.
func (t *terms) requested(entries []string) (found []*Intent, omitted []pat.OmittedEntry) {
	if len(entries) == 0 {
		for _, in := range t.Catalog.Intents() {
			if !in.Retired {
				found = append(found, t.intents[in.UID.String()])
			}
		}
		return found, nil
	}
	seen := map[string]bool{}
	add := func(in *Intent) {
		if uid := in.UID.String(); !seen[uid] && !in.Retired {
			seen[uid] = true
			found = append(found, in)
		}
	}
	for _, e := range entries {
		if namespace, ok := strings.CutSuffix(e, ":*:*:execute"); ok {
			before := len(found)
			for _, in := range t.Catalog.Intents() {
				if in.UID.Namespace == namespace {
					add(t.intents[in.UID.String()])
				}
			}
			if len(found) > before {
				continue
			}
		}
		in, ok := t.intents[strings.TrimSuffix(e, ":execute")]
		if !ok || in.Retired {
			omitted = append(omitted, pat.OmittedEntry{Entry: e, Reason: reason.IntentNotFound})
			continue
		}
		add(in)
	}
	return found, omitted
}

// covering returns the strictest limit that applies to all of these intents under each of their permissions, and whether there is one. It
// considers only rolling limits, because the claim lmt cannot express any other limit.
func covering(ctx context.Context, who applicant, granted []grantedIntent) (limit.Limit, bool, error) {
	var common map[string]limit.Limit
	for n, in := range granted {
		terms, err := in.of.termsFor(ctx, who, in.ID)
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

// limitsOf returns the rolling limits, by id, that apply to an intent under each of the permissions that permit it. If a limit has
// different maxima under these permissions, the largest one applies.
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

// inBoth returns the limits whose ids are in both maps. which is the function that selects one of the two maxima.
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

// tokenLimit returns the limit of a PAT itself. It returns nil if that limit is also a limit of the policy, because calls are counted
// against the limits of the policy anyway. agreed returns the key of the agreement; tokenLimit calls it only if the terms depend on the
// key.
func (t *terms) tokenLimit(ctx context.Context, c *pat.Claims, agreed func() (keys.Key, error)) (*limit.Limit, error) {
	if l, ok := t.limits.Get(string(c.ID)); ok {
		return l, nil
	}
	requested, _ := t.requested(c.Scope)
	granted := make([]grantedIntent, 0, len(requested))
	for _, in := range requested {
		of, _ := t.issuing(c.PolicyDigest, in.ID)
		granted = append(granted, grantedIntent{in, of})
	}
	who := applicant{agentID: c.Subject, keyID: c.KeyID, plan: c.Declared.Plan()}
	if t.Policy.NamesKeys() && c.Assurance != pat.Consent {
		key, err := agreed()
		if err != nil {
			return nil, err
		}
		who.key = key.SPKI()
	}
	strictest, ok, err := covering(ctx, who, granted)
	if err != nil {
		return nil, err
	}
	var own *limit.Limit
	if !ok || strictest.Rate != c.Limit {
		l := limit.OfToken(c.Limit)
		own = &l
	}
	t.limits.Set(string(c.ID), own)
	return own, nil
}
