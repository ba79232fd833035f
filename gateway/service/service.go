package gateway

import (
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/uimgate/uimgate/gateway/upstream"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/nearest"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A Service is one web service as offered to agents: what it offers, on which terms, and the way to it.
// It does not change; a reload makes another.
type Service struct {
	ID, Issuer string
	PublicURL  *url.URL
	Catalog    *intents.Catalog
	Policy     *odrl.Policy
	Extra      *odrl.Extra // the operator's own Rego; nil: none
	Verifier   *pat.Verifier
	Issuance   *pat.Issuer
	Upstream   *upstream.Upstream

	intents      map[string]*offeredIntent // by uid
	policy       pat.Offer                 // what agents sign
	past         []pat.Offer               // earlier policies, to tell an agent that it signed one of them
	offered      page                      // the policy as served
	published    atomic.Pointer[publishedAgents]
	license      string // as a header field; empty: none
	front        madeOnce
	openAPI      madeOnce
	maxBody      int64
	hold         time.Duration // until an unfinished call counts as unresolved
	credit       store.Billing
	tokenRate    limit.Rate // pat.limit
	suspendAfter int64
	personal     bool // the policy may mean particular agents or keys
	openDoors    bool // admission is open: unapproved agents share one bound on credit
	facts        []fact
	terms        *otter.Cache[termsKey, odrl.Terms]
	tokenLimits  *otter.Cache[string, *limit.Limit]
}

// An offeredIntent is one intent with everything that a call of it needs.
type offeredIntent struct {
	*intents.Intent
	route     *upstream.Route
	freshOnly bool       // agreement: fresh
	ceiling   limit.Rate // over all agents; Max 0: none
}

// find returns the intent that may be executed under this uid.
func (s *Service) find(uid string) (*offeredIntent, error) {
	found, err := s.lookup(uid)
	if err != nil {
		return nil, err
	}
	if found.Retired {
		f := newFault("INTENT_DEPRECATED", "This intent is no longer offered.")
		if (found.ReplacedBy != intents.UID{}) {
			f.with("replaced_by", found.ReplacedBy.String())
		}
		return nil, f
	}
	return found, nil
}

// lookup returns the intent of this uid; where only other versions of it exist, they are listed.
func (s *Service) lookup(uid string) (*offeredIntent, error) {
	if found, ok := s.intents[uid]; ok {
		return found, nil
	}
	parsed, err := intents.ParseUID(uid)
	if err != nil {
		return nil, newFault("INTENT_NOT_FOUND", "An intent is named namespace:intent-name:version.")
	}
	if versions := s.Catalog.Versions(parsed.Namespace, parsed.Name); len(versions) > 0 {
		return nil, newFault("VERSION_CONFLICT", "The intent exists, but not in this version.").with("versions", versions)
	}
	f := newFault("INTENT_NOT_FOUND", "This service offers no such intent.")
	if near := s.nearest(uid); near != "" {
		f.with("nearest", near)
	}
	return nil, f
}

// nearest is the uid that was probably meant.
func (s *Service) nearest(uid string) string {
	const most = 200 // enough to help, and bounded
	known := make([]string, 0, min(most, len(s.intents)))
	for _, in := range s.Catalog.Intents()[:min(most, len(s.intents))] {
		known = append(known, in.UID.String())
	}
	return nearest.Name(uid, known)
}

// policyRef tells an agent which policy to agree to.
func (s *Service) policyRef() map[string]string {
	return map[string]string{"uid": s.policy.UID, "digest": s.policy.Digest, "url": s.at("/api/policy")}
}

// at is a published URL of this service; the Host header never has a part in it.
func (s *Service) at(path string) string { return s.PublicURL.JoinPath(path).String() }

// fill is what the gateway knows for agents.json where the operator left it out.
func (s *Service) fill(publicKey string) intents.Fill {
	return intents.Fill{
		PublicKey: publicKey, PolicyURL: s.at("/api/policy"), DiscoveryURL: s.at("/api/intents/search"),
		ExecuteURL: s.at("/api/intents/execute"), Issuer: s.Issuer,
	}
}

// newCaches bounds what is remembered of agents: as many tokens and terms as are in use at once.
func (s *Service) newCaches() {
	const size = 100_000
	s.terms = otter.Must(&otter.Options[termsKey, odrl.Terms]{MaximumSize: size})
	s.tokenLimits = otter.Must(&otter.Options[string, *limit.Limit]{MaximumSize: size})
}

// routeFor makes the way to the upstream of one intent.
func routeFor(u *upstream.Upstream, in *intents.Intent) (*upstream.Route, error) {
	e := upstream.Endpoint{IntentUID: in.UID.String()}
	for _, p := range in.Inputs {
		e.Parameters = append(e.Parameters, p.Name)
	}
	if in.Endpoint != nil {
		e.URL, e.Method, e.ContentType, e.Unsafe = in.Endpoint.URL, in.Endpoint.Method, in.Endpoint.ContentType, !in.Safe
	}
	route, err := u.Route(e)
	if err != nil {
		return nil, err
	}
	for _, name := range route.PathParameters() {
		if p, ok := in.Input(name); ok && !p.Required && !p.HasDefault {
			return nil, fmt.Errorf("the path of the endpoint needs the parameter %s, which is neither required nor has a default", name)
		}
	}
	return route, nil
}
