package gateway

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/upstream"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/nearest"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A Loaded configuration has been read, checked and compiled as a whole: everything that serve would
// refuse is known. It has no state and no connections yet.
type Loaded struct {
	config   *config.Config
	services []*Service
}

// settleTime is how long after its upstream's timeout a call may still be settled by itself.
const settleTime = 30 * time.Second

// Load checks and compiles everything that a configuration names. The Loaded is nil if and only if a
// problem is an error.
func Load(ctx context.Context, c *config.Config, now func() time.Time) (*Loaded, config.Problems) {
	l := &loading{ctx: ctx, config: c, now: now}
	out := &Loaded{config: c}
	for i := range c.Services {
		if s := l.service(i); s != nil {
			out.services = append(out.services, s)
		}
	}
	l.issuers(out.services)
	if l.problems.Failed() {
		return nil, l.problems
	}
	return out, l.problems
}

type loading struct {
	ctx      context.Context //nolint:containedctx // lives as long as one Load
	config   *config.Config
	now      func() time.Time
	problems config.Problems
}

// found adds the problems of one document, each with its line.
func (l *loading) found(f config.File, problems problem.List) (failed bool) {
	for _, p := range problems {
		line, column := strictjson.Position(f.Data, p.Pointer)
		message := p.Message
		if p.Pointer != "" {
			message = p.Pointer + ": " + message
		}
		l.problems = append(l.problems, config.Problem{File: f.Path, Line: line, Column: column, Level: p.Level, Message: message})
	}
	return problems.Failed()
}

// wrong adds a problem of the configuration itself, at one key of one service.
func (l *loading) wrong(service int, key, format string, args ...any) {
	l.problems = append(l.problems, l.config.Problemf(problem.Error, fmt.Sprintf("services[%d].%s", service, key), format, args...))
}

func (l *loading) service(at int) *Service {
	c := &l.config.Services[at]
	catalog, problems := intents.Parse(c.AgentsFile.Data, intents.Options{Strict: true})
	if l.found(c.AgentsFile, problems) {
		return nil
	}
	if len(catalog.Intents()) == 0 {
		l.wrong(at, "agents_file", "%s offers no intent", c.AgentsFile.Path)
		return nil
	}
	s := &Service{
		ID: c.ID, Issuer: c.IssuerOr(catalog.Namespaces()[0]), PublicURL: c.PublicURL, Catalog: catalog, intents: map[string]*offeredIntent{}, license: licenseField(catalog.License),
		maxBody: l.config.Server.MaxBody, hold: c.Upstream.Timeout + settleTime, tokenRate: l.config.PAT.Limit,
		personal: len(c.Parties) > 0, suspendAfter: int64(l.config.PAT.SuspendAfter), openDoors: l.config.PAT.Admission == config.AdmissionOpen,
		credit: store.Billing{Prepaid: l.config.Billing.Mode == config.Prepaid, Credit: l.config.Billing.Credit},
	}
	for iri, party := range c.Parties {
		if party.Key == "" { // whoever came first could be the party
			l.wrong(at, fmt.Sprintf("parties[%q]", iri), "the key (RFC 7638 thumbprint) of the agent is missing: uimgate agent keygen prints it")
		}
	}
	s.newCaches()
	if !l.upstream(s, at) || !l.offerIntents(s, at) || !l.policy(s, at) {
		return nil
	}
	return s
}

func (l *loading) upstream(s *Service, at int) bool {
	c := &l.config.Services[at]
	hosts := slices.Clone(c.Hosts)
	if u, err := url.Parse(s.Catalog.Service.URL); err == nil && u.Host != "" {
		hosts = append(hosts, u.Hostname())
	}
	up := c.Upstream
	made, err := upstream.New(upstream.Config{
		URL: up.URL, Execute: up.Execute, AllowedHosts: hosts, Timeout: up.Timeout, MaxResponse: up.MaxResponse,
		IdempotencyHeader: up.IdempotencyHeader, AuthHeader: upstream.AuthHeader{Name: up.Auth.Name, Value: up.Auth.Value.Reveal()},
		Breaker: upstream.Breaker{Failures: up.Breaker.Failures, OpenFor: up.Breaker.OpenFor}, Now: l.now,
	})
	if err != nil {
		l.wrong(at, "upstream", "%v", err)
		return false
	}
	s.Upstream = made
	return true
}

func (l *loading) offerIntents(s *Service, at int) bool {
	c := &l.config.Services[at]
	ok := true
	uids := make([]string, 0, len(s.Catalog.Intents()))
	for i, in := range s.Catalog.Intents() {
		uid := in.UID.String()
		uids = append(uids, uid)
		offered := &offeredIntent{Intent: in}
		if settings, set := c.Intents[uid]; set {
			offered.freshOnly, offered.ceiling = settings.Agreement == config.AgreementFresh, settings.Ceiling
		}
		s.intents[uid] = offered
		if in.Retired {
			continue
		}
		route, err := routeFor(s.Upstream, in)
		if err != nil {
			ok = false
			l.found(c.AgentsFile, problem.List{{Level: problem.Error, Code: "endpoint", Pointer: fmt.Sprintf("/intents/%d", i), Message: uid + ": " + err.Error()}})
			continue
		}
		offered.route = route
	}
	for uid := range c.Intents {
		if s.intents[uid] == nil {
			ok = false
			l.wrong(at, fmt.Sprintf("intents[%q]", uid), "%s offers no such intent%s", c.AgentsFile.Path, didYouMean(nearest.Name(uid, uids)))
		}
	}
	return ok
}

func didYouMean(near string) string {
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; perhaps %q is meant", near)
}

func (l *loading) policy(s *Service, at int) bool {
	c := &l.config.Services[at]
	published, problems := odrl.Publish(l.ctx, c.PolicyFile.Data, l.world(s, c))
	if l.found(c.PolicyFile, problems) {
		return false
	}
	for _, operand := range published.Operands() {
		if _, known := builtInFacts[operand]; known || c.Facts[operand] != nil {
			continue
		}
		if slices.Contains(fixedFacts, operand) {
			l.wrong(at, "policy_file", "the policy makes something depend on %s, which is no fact of a call: a price is set by a duty to pay", operand)
			return false
		}
		l.wrong(at, "policy_file", "the policy makes something depend on %s, of which the gateway knows nothing: say where it comes from in services[%d].facts, "+
			"such as %s: [{parameter: /%s}]; what has no source would never be permitted", operand, at, operand, operand)
		return false
	}
	if !l.facts(s, at, published.Operands()) {
		return false
	}
	offer, err := pat.NewOffer(c.PolicyFile.Data, published.UID())
	if err != nil {
		l.found(c.PolicyFile, problem.List{{Level: problem.Error, Code: "offer", Message: err.Error()}})
		return false
	}
	if published.Charges() && !l.payable(s, at, published.Currencies()) {
		return false
	}
	if !l.rego(s, c) {
		return false
	}
	s.Policy, s.policy = published, offer
	s.personal = s.personal || published.NamesKeys()
	s.offered = page{body: offer.Bytes, mediaType: "application/ld+json", etag: `"` + offer.Digest + `"`}
	return true
}

// facts takes over where facts come from, and warns of those nobody asks for.
func (l *loading) facts(s *Service, at int, asked []string) bool {
	c, ok := &l.config.Services[at], true
	for _, operand := range slices.Sorted(maps.Keys(c.Facts)) {
		key := fmt.Sprintf("services[%d].facts[%q]", at, operand)
		switch {
		case slices.Contains(fixedFacts, operand):
			ok = false
			l.problems = append(l.problems, l.config.Problemf(problem.Error, key, "the gateway itself knows %s: it takes no other source", operand))
		case !slices.Contains(asked, operand):
			l.problems = append(l.problems, l.config.Problemf(problem.Warning, key, "the policy does not ask for %s%s", operand, didYouMean(nearest.Name(operand, asked))))
		}
	}
	s.facts = factSources(c.Facts)
	return ok
}

// rego compiles the operator's own Rego, where there is any.
func (l *loading) rego(s *Service, c *config.Service) bool {
	if c.PolicyRego.Path == "" {
		return true
	}
	extra, problems := odrl.NewExtra(l.ctx, c.PolicyRego.Path, c.PolicyRego.Data, c.PolicyRegoTime)
	for _, p := range problems {
		l.problems = append(l.problems, config.Problem{File: c.PolicyRego.Path, Line: p.Line, Column: p.Column, Level: problem.Error, Message: p.Message})
	}
	s.Extra = extra
	return extra != nil
}

// payable holds the policy's charges against what agents can owe.
func (l *loading) payable(s *Service, at int, currencies []string) bool {
	if s.credit.Prepaid {
		return true
	}
	if s.credit.Credit.IsZero() {
		l.wrong(at, "policy_file", "the policy charges: set billing.credit (such as \"10 %s\"), the most an agent may owe, or billing.mode: prepaid", currencies[0])
		return false
	}
	for _, currency := range currencies {
		if currency != s.credit.Credit.Currency {
			l.wrong(at, "policy_file", "the policy charges in %s, but billing.credit is in %s: nobody could pay", currency, s.credit.Credit.Currency)
			return false
		}
	}
	return true
}

// world is what the names in the policy can refer to.
func (l *loading) world(s *Service, c *config.Service) odrl.World {
	w := odrl.World{Parties: map[string]odrl.Party{}, AnyAssignee: c.Assignee == config.AssigneeAnyone}
	for iri, p := range c.Parties {
		w.Parties[iri] = odrl.Party{AgentID: p.AgentID, KeyID: p.Key}
	}
	for _, in := range s.Catalog.Intents() {
		if in.Retired {
			continue
		}
		w.Intents = append(w.Intents, odrl.Asset{UID: in.UID.String(), Namespace: in.UID.Namespace, Name: in.UID.Name, Title: in.Name})
	}
	hosts := slices.Clone(s.Catalog.Namespaces())
	hosts = append(hosts, c.Hosts...)
	info := s.Catalog.Service
	for _, text := range []string{info.URL, s.PublicURL.String(), s.Catalog.PolicyFile, s.Catalog.Discovery, s.Catalog.Execute, policyUID(c.PolicyFile.Data)} {
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			hosts = append(hosts, strings.ToLower(u.Host))
		}
	}
	slices.Sort(hosts)
	w.Hosts = slices.Compact(hosts)
	return w
}

// policyUID reads the policy's own name, under which its targets may stand; the policy itself is read,
// strictly, by odrl.
func policyUID(document []byte) string {
	tree, err := strictjson.DecodeObject(document)
	if err != nil {
		return ""
	}
	for _, name := range []string{"uid", "@id", "id", "odrl:uid"} {
		if uid, ok := tree[name].(string); ok {
			return uid
		}
	}
	return ""
}

// issuers refuses two services that would take each other's PATs.
func (l *loading) issuers(services []*Service) {
	seen := map[string]string{}
	for i, s := range services {
		if other, taken := seen[s.Issuer]; taken {
			l.wrong(i, "issuer", "services %s and %s have the same issuer %q: set services[].issuer", other, s.ID, s.Issuer)
		}
		seen[s.Issuer] = s.ID
	}
}
