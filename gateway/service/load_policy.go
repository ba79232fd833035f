package service

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/suggest"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/words"
	"github.com/uimgate/uimgate/pat"
)

// policy sets everything in s that depends on one version of the policy. path is the path of its setting in the configuration of the
// service.
func (l *loadState) policy(s *Definition, at int, file config.File, path string) bool {
	c := &l.config.Services[at]
	world := l.world(s, c, file.Data)
	known, ok := l.vocabularies(at)
	if !ok {
		return false
	}
	world.Vocabularies = known
	published, problems := odrl.Publish(l.ctx, file.Data, world)
	if l.found(file, problems) {
		return false
	}
	for _, operand := range published.Operands() {
		if odrl.SourceOf(operand).BuiltIn() || c.Facts[operand] != nil {
			continue
		}
		if fixed(operand) {
			l.wrong(at, path, "the policy depends on %s, which is not a fact of a call: use a duty to pay to set a price",
				operand)
			return false
		}
		l.wrong(at, path,
			"the policy depends on %s, for which the gateway has no source, so it would permit no such call: "+
				"set a source in services[%d].facts, such as %s: [{parameter: /%s}]", operand, at, operand, operand)
		return false
	}
	if !l.ownFacts(at) {
		return false
	}
	offer, err := pat.NewOffer(file.Data, published.UID())
	if err != nil {
		l.found(file, problem.List{{Level: problem.Error, Code: "offer", Message: err.Error()}})
		return false
	}
	if published.Charges() && !l.payable(s, at, path, published.Currencies()) {
		return false
	}
	s.facts = newFacts(c.Facts, published.Operands(), c.PolicyRego.Path != "")
	s.PolicyFile = file.Path
	s.Policy, s.offer, s.world, s.clauses = published, offer, world, words.Clauses(published)
	if err := published.Prepare(l.ctx); err != nil {
		l.found(file, problem.List{{Level: problem.Error, Code: "engine", Message: err.Error()}})
		return false
	}
	return true
}

// ownFacts adds an error and returns false if the configuration has a source for a fact that the gateway itself provides.
func (l *loadState) ownFacts(at int) (ok bool) {
	ok = true
	for _, operand := range slices.Sorted(maps.Keys(l.config.Services[at].Facts)) {
		if fixed(operand) {
			ok = false
			l.wrong(at, fmt.Sprintf("facts[%q]", operand), "the gateway itself provides %s: remove this source", operand)
		}
	}
	return ok
}

// adviseFacts adds a warning for each source of a fact that none of the policies uses.
func (l *loadState) adviseFacts(at int, versions []*Definition) {
	var used []string
	for _, d := range versions {
		used = append(used, d.Policy.Operands()...)
	}
	for _, operand := range slices.Sorted(maps.Keys(l.config.Services[at].Facts)) {
		if !slices.Contains(used, operand) {
			l.problems = append(l.problems, l.config.Problemf(problem.Warning, fmt.Sprintf("services[%d].facts[%q]", at, operand),
				"the policy does not use %s%s", operand, didYouMean(suggest.Name(operand, used))))
		}
	}
}

// vocabularies returns the vocabularies of the profiles that the configuration lists. If one of them is not valid, it adds an error and
// returns false.
func (l *loadState) vocabularies(at int) (list []*odrl.Vocabulary, ok bool) {
	ok = true
	for i, f := range l.config.Services[at].Profiles {
		v := odrl.ShippedVocabulary(f.Path)
		if v == nil && f.Data == nil {
			l.wrong(at, fmt.Sprintf("profiles[%d]", i),
				"no vocabulary with this name is built in: use one of %s, or a file name with an extension, such as terms.ttl",
				strings.Join(odrl.ShippedVocabularies(), ", "))
			ok = false
			continue
		}
		if v == nil {
			var err error
			if v, err = odrl.ReadVocabulary(f.Path, f.Data); err != nil {
				l.wrong(at, fmt.Sprintf("profiles[%d]", i), "%s: %v", f.Path, err)
				ok = false
				continue
			}
		}
		list = append(list, v)
	}
	return list, ok
}

// rego compiles the operator's own Rego, if the configuration names a file. If that fails, it adds errors and returns false.
func (l *loadState) rego(s *Definition, c *config.Service) bool {
	if c.PolicyRego.Path == "" {
		return true
	}
	extra, problems := odrl.NewExtra(l.ctx, c.PolicyRego.Path, c.PolicyRego.Data, c.PolicyRegoTime)
	for _, p := range problems {
		l.problems = append(l.problems, config.Problem{
			File: c.PolicyRego.Path, Line: p.Line, Column: p.Column, Level: problem.Error,
			Message: p.Message,
		})
	}
	s.Extra = extra
	return extra != nil
}

// payable checks that agents can owe the charges of the policy: that there is credit, and that it is in the same currency. Otherwise it
// adds an error and returns false.
func (l *loadState) payable(s *Definition, at int, path string, currencies []string) bool {
	if s.Credit.Prepaid {
		return true
	}
	if s.Credit.Credit.IsZero() {
		l.wrong(at, path,
			"the policy charges for calls: set billing.credit to the most that an agent may owe, such as \"10 %s\", or set billing.mode to prepaid", currencies[0])
		return false
	}
	for _, currency := range currencies {
		if currency != s.Credit.Credit.Currency {
			l.wrong(at, path, "the policy charges in %s, but billing.credit is in %s: use the same currency in both", currency, s.Credit.Credit.Currency)
			return false
		}
	}
	return true
}

// world returns the names that the policy in document can refer to.
func (l *loadState) world(s *Definition, c *config.Service, document []byte) odrl.World {
	w := odrl.World{Parties: map[string]odrl.Party{}, AnyAssignee: c.Assignee == config.AssigneeAnyone}
	for iri, p := range c.Parties {
		w.Parties[iri] = odrl.Party{AgentID: p.AgentID, KeyID: p.Key}
	}
	for _, in := range s.Catalog.Intents() {
		asset := odrl.Asset{UID: in.UID.String(), Namespace: in.UID.Namespace, Name: in.UID.Name, Title: in.Name}
		if in.Retired {
			w.Retired = append(w.Retired, asset)
		} else {
			w.Intents = append(w.Intents, asset)
		}
	}
	w.Hosts = hostsWith(slices.Concat(s.Catalog.Namespaces(), c.Hosts),
		s.Catalog.Service.URL, s.PublicURL.String(), s.Catalog.PolicyFile, s.Catalog.Discovery, s.Catalog.Execute, policyUID(document))
	return w
}

// hostsWith returns hosts and the hosts of URLs, sorted. It ignores values that are not URLs with a host.
func hostsWith(hosts []string, urls ...string) []string {
	all := slices.Clone(hosts)
	for _, text := range urls {
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			all = append(all, strings.ToLower(u.Host))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// policyUID returns the uid of a policy document, or "" if there is none. Targets of the policy may start with the uid. policyUID does not
// check the document; package odrl does that.
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
