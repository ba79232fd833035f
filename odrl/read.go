package odrl

import (
	"context"
	"slices"
	"strings"
)

const (
	// MaxDocument bounds the bytes of a policy.
	MaxDocument = 2 << 20
	// MaxRules bounds the rules a policy may write, duties included, and, again, those they expand to.
	MaxRules = 10_000
	// MaxConstraints bounds the constraints of one policy after expansion.
	MaxConstraints = 50_000
	// MaxNesting is how deep logical constraints may nest. levels.rego has one set of rules for each.
	MaxNesting = 8
)

// A reader turns the JSON tree of a document into the policies it holds.
type reader struct {
	*names
	ctx         context.Context //nolint:containedctx // the reader lives as long as one document is read
	rules       int
	things      int
	constraints int
	stopped     bool
	facts       *facts

	nodes map[string][]definition // by IRI or blank node
	used  map[string]bool         // nodes that something refers to, by the same
	// What has been read of nodes that bear an IRI, so that every reference means the same one.
	readRules       map[string]*ruleNode
	readConstraints map[string]*constraintNode
	readThings      map[string]reference
	reading         map[string]bool
	shared          sharing
}

// sharing is what nodes say from outside of policies: ODRL IM 2.2.1, 2.3.1 hasPolicy, assignerOf, assigneeOf.
type sharing map[string]map[string][]reference // policy → target, assigner or assignee → who

func newReader(ctx context.Context, n *names) *reader {
	return &reader{
		names: n, ctx: ctx, facts: newFacts(), nodes: map[string][]definition{}, used: map[string]bool{}, readRules: map[string]*ruleNode{},
		readConstraints: map[string]*constraintNode{}, readThings: map[string]reference{}, reading: map[string]bool{}, shared: sharing{},
	}
}

// fits counts towards a bound and reports once when it is passed or the time is up.
func (r *reader) fits(count *int, most int, what, pointer string) bool {
	if r.stopped {
		return false
	}
	*count++
	switch {
	case *count > most:
		r.problems.Errorf("too-large", pointer, "a policy has at most %d %s", most, what)
	case r.problems.full():
	case r.ctx.Err() != nil:
		r.problems.Errorf("too-slow", pointer, "reading the policy takes too long: it is too large")
	default:
		return true
	}
	r.stopped = true
	return false
}

// knownNamespaces are those of ODRL, of UIM, and of the vocabularies at the hosts.
func (n *names) knownNamespaces(hosts []string) {
	n.namespaces = []string{odrlNS, uimNS, ccNS}
	for _, p := range profiles[1:] {
		n.namespaces = append(n.namespaces, p+"/", p+"#")
	}
	for _, host := range hosts {
		n.namespaces = append(n.namespaces, host+"/vocab/")
	}
}

// documents reads everything that the tree holds. Of use only where no problem is an error.
func (r *reader) documents(tree any) []*document {
	tops, graph := r.tops(tree)
	var policies, others []field
	for _, f := range tops {
		if m, _ := f.value.(map[string]any); graph && m != nil && !r.isPolicy(m) {
			r.index(f, anyRole, true)
			others = append(others, f)
			continue
		}
		r.index(f, policyRole, true)
		policies = append(policies, f)
	}
	r.terms(others)
	for _, f := range others {
		r.outside(f)
	}
	list := make([]*document, 0, len(policies))
	seen := map[string]bool{}
	for _, f := range policies {
		if id := r.idOf(f.value); id != "" && graph {
			if seen[id] { // another part of a node that is read as one
				continue
			}
			seen[id], r.used[id] = true, true
		}
		if d := r.policy(f); d != nil {
			list = append(list, d)
		}
	}
	r.unused(others)
	return list
}

// tops are the nodes at the top: the document itself, or the members of its @graph or list.
func (r *reader) tops(tree any) (list []field, graph bool) {
	switch v := tree.(type) {
	case []any:
		return listOf(field{"", v}), true
	case map[string]any:
		if c, ok := v["@context"]; ok {
			r.readContext(c, "/@context")
		} else if r.terse(v) {
			r.problems.Warnf("context", "", "the policy has no @context: write \"@context\": \"http://www.w3.org/ns/odrl.jsonld\"")
		}
		if wrapped(v) {
			return listOf(field{"/@graph", v["@graph"]}), true
		}
	}
	return []field{{"", tree}}, false
}

// terse reports whether the document uses words that only a context gives a meaning.
func (r *reader) terse(v any) bool {
	m, _ := v.(map[string]any)
	for raw := range m {
		if raw == "@graph" {
			return slices.ContainsFunc(listOf(field{value: m[raw]}), func(f field) bool { return r.terse(f.value) })
		}
		if !strings.Contains(raw, ":") && !strings.HasPrefix(raw, "@") {
			return true
		}
	}
	return len(m) == 0
}

// wrapped reports whether the document is a @graph and nothing else.
func wrapped(tree map[string]any) bool {
	for k := range tree {
		if k != "@graph" && k != "@context" {
			return false
		}
	}
	return tree["@graph"] != nil
}

// isPolicy tells the policies of a graph from its other nodes.
func (r *reader) isPolicy(m map[string]any) bool {
	for raw, v := range m {
		switch name, _ := r.key(raw); name {
		case "permission", "prohibition", "obligation", "inheritFrom", "conflict", "profile":
			return true
		case "@type":
			for _, f := range listOf(field{value: v}) {
				if s, ok := f.value.(string); ok {
					if t, ok := r.local(s, r.namespaces); ok && known(policyTypes, t) {
						return true
					}
				}
			}
		}
	}
	return false
}

func known[V any](m map[string]V, k string) bool { _, ok := m[k]; return ok }

// policy reads one policy.
func (r *reader) policy(f field) *document {
	o := r.node(f, "a policy", policyRole)
	if o == nil {
		return nil
	}
	if f.pointer == "" {
		o.take("@context")
	}
	d := &document{pointer: f.pointer, facts: r.facts, notes: o.notes, keys: o.filled}
	r.head(o, d)
	d.actions = r.actionList(o)
	d.targets = r.references(o, "target", "a target")
	d.relations = r.relations(o)
	d.asset = r.references(o, "asset", "an asset")
	d.parties = map[string][]reference{}
	r.partyFields(o, d.parties)
	r.partyList(o, d.parties)
	for _, group := range []struct {
		key  string
		kind ruleKind
	}{{"permission", permission}, {"prohibition", prohibition}, {"obligation", obligation}, {"duty", obligation}} {
		list := o.items(group.key)
		if group.key == "duty" && len(list) > 0 {
			r.problems.Warnf("duty", list[0].pointer, "a duty of the policy itself is read as an obligation: write obligation")
		}
		for _, item := range list {
			if rule := r.rule(item, group.kind); rule != nil {
				d.rules = append(d.rules, rule)
			}
		}
	}
	o.close("a policy")
	return d
}

func (r *reader) head(o *object, d *document) {
	if f, ok := o.one("@id"); ok {
		d.uid = r.nodeID(f, "the uid of a policy")
	}
	r.types(o, d)
	for _, f := range o.items("profile") {
		if iri, ok := r.iri(f, "a profile"); ok {
			d.profiles = append(d.profiles, reference{pointer: f.pointer, iri: iri})
			r.profile(iri, f.pointer)
		}
	}
	for _, link := range []struct {
		key  string
		into *[]reference
	}{{"inheritFrom", &d.inherits}, {"isReplacedBy", &d.replacedBy}} {
		for _, f := range o.items(link.key) {
			if iri, ok := r.iri(f, link.key); ok {
				*link.into = append(*link.into, reference{pointer: f.pointer, iri: iri})
			}
		}
	}
	d.strategies = r.conflict(o)
}

// nodeID is the name of a node: an IRI, or none for a blank node, which has no name outside of the document.
func (r *reader) nodeID(f field, what string) string {
	if id := r.idOf(map[string]any{"@id": f.value}); blank(id) {
		if what == "the uid of a policy" {
			r.problems.Doubtf("iri", f.pointer, "%s must be an absolute IRI, not the blank node %s", what, quote(id))
		}
		return ""
	}
	iri, _ := r.iri(f, what)
	return iri
}

func (r *reader) types(o *object, d *document) {
	for _, f := range o.items("@type") {
		s, ok := r.word(f, "a type")
		if !ok {
			continue
		}
		if d.typesAt == "" {
			d.typesAt = f.pointer
		}
		if iri := r.expand(s); absolute(iri) && !r.ofODRL(iri) {
			if !slices.Contains(d.classes, iri) {
				d.classes = append(d.classes, iri)
			}
			continue
		}
		if t, ok := r.term(class{what: "policy type", known: sortedKeys(policyTypes)}, f, s); ok && !slices.Contains(d.types, t) {
			d.types = append(d.types, t)
		}
	}
}

// profile stops at a profile that is not known. ODRL IM 2.1.
func (r *reader) profile(iri, pointer string) {
	rest, _ := bare(iri)
	switch {
	case slices.Contains(profiles, rest):
	case slices.Contains(r.profiles, iri) || modelProfiles.MatchString(rest) && !r.served:
		r.open = true
	default:
		r.problems.Errorf("unknown-profile", pointer, "the profile %s is not known%s", quote(iri), suggestProfile(rest))
	}
}

func suggestProfile(rest string) string {
	if s := suggest(rest, profiles); s != "" {
		return s
	}
	return ": use http://" + profiles[1] + " for UIM's terms, or none for ODRL's own"
}

// conflict reads the strategy; several are one too many, but all are kept: a merge has them too.
func (r *reader) conflict(o *object) []strategy {
	list := o.items("conflict")
	if len(list) > 1 {
		r.problems.Doubtf("cardinality", list[0].pointer[:strings.LastIndexByte(list[0].pointer, '/')], "conflict takes exactly one value, not %d", len(list))
	}
	var found []strategy
	for _, f := range list {
		s, ok := r.word(f, "conflict")
		if !ok {
			continue
		}
		t, ok := r.term(class{what: "conflict strategy", known: []string{"perm", "prohibit", "invalid"}}, f, s)
		if !ok {
			continue
		}
		value := map[string]strategy{"perm": permissionWins, "prohibit": prohibitionWins, "invalid": voidOnConflict}[t]
		if !slices.Contains(found, value) {
			found = append(found, value)
		}
	}
	return found
}

func pointerName(p string) string {
	if p == "" {
		return "the top"
	}
	return p
}
