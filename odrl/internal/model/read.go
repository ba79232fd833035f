package model

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/odrl/internal/vocabulary"
)

const (
	// MaxDocument is the maximum size of a policy in bytes.
	MaxDocument = 2 << 20
	// MaxRules is the maximum number of rules of a policy, including duties, both as written and after expansion.
	MaxRules = 10_000
	// MaxConstraints is the maximum number of constraints of a policy, both as written and after expansion.
	MaxConstraints = 50_000
	// MaxNesting is the maximum nesting of logical constraints. levels.rego has one set of rules for each level.
	MaxNesting = 8
)

// A reader converts the JSON tree of a document into its policies.
type reader struct {
	*Names
	ctx         context.Context //nolint:containedctx // the reader lives as long as one document is read
	rules       int
	things      int
	constraints int
	stopped     bool
	Facts       *Facts

	nodes map[string][]definition // by IRI or blank node
	used  map[string]bool         // the nodes that something refers to, by IRI or blank node
	// The nodes with an IRI that have been read, so that all references to an IRI share one node.
	readRules       map[string]*Rule
	readConstraints map[string]*Constraint
	readThings      map[string]Reference
	reading         map[string]bool
	shared          sharedNodes
}

// sharedNodes are the assets and parties that refer to a policy with hasPolicy, assignerOf or assigneeOf. See ODRL IM, sections 2.2.1 and
// 2.3.1.
type sharedNodes map[string]map[string][]Reference // policy → target, assigner or assignee → assets or parties

// NewReader returns a reader of one document, whose names n resolves. Reading stops with an error when ctx is done.
func NewReader(ctx context.Context, n *Names) *reader {
	facts := newFacts()
	facts.vocabulary = &n.added
	return &reader{
		Names: n, ctx: ctx, Facts: facts, nodes: map[string][]definition{}, used: map[string]bool{}, readRules: map[string]*Rule{},
		readConstraints: map[string]*Constraint{}, readThings: map[string]Reference{}, reading: map[string]bool{}, shared: sharedNodes{},
	}
}

// fits increments count and reports whether reading may continue. If count exceeds limit, or ctx is done, fits reports an error once and
// stops the reader.
func (r *reader) fits(count *int, limit int, what, pointer string) bool {
	if r.stopped {
		return false
	}
	*count++
	switch {
	case *count > limit:
		r.Problems.Errorf("too-large", pointer, "a policy may have at most %d %s", limit, what)
	case r.Problems.Full():
	case r.ctx.Err() != nil:
		r.Problems.Errorf("stopped", pointer, "reading the policy was stopped")
	default:
		return true
	}
	r.stopped = true
	return false
}

// knownNamespaces sets the namespaces of terms: those of ODRL, UIM and Creative Commons, and the vocabularies at the hosts.
func (n *Names) knownNamespaces(hosts []string) {
	n.Namespaces = []string{OdrlNS, UimNS, ccNS}
	for _, p := range profiles[1:] {
		n.Namespaces = append(n.Namespaces, p+"/", p+"#")
	}
	for _, host := range hosts {
		n.Namespaces = append(n.Namespaces, host+"/vocab/")
	}
}

// Documents reads the policies of the whole tree. The result is usable only if no problem is an error.
func (r *reader) Documents(tree any) []*Document {
	tops, graph := r.tops(tree)
	var policies, others []Field
	for _, f := range tops {
		if m, _ := f.Value.(map[string]any); graph && m != nil && !r.isPolicy(m) {
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
	list := make([]*Document, 0, len(policies))
	seen := map[string]bool{}
	for _, f := range policies {
		if id := r.idOf(f.Value); id != "" && graph {
			if seen[id] { // another definition of a node that has already been read
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

// tops returns the nodes at the top: the document itself, the policies inside a description or a definition, or the members of its @graph
// or list. graph is set if there may be several.
func (r *reader) tops(tree any) (list []Field, graph bool) {
	switch v := tree.(type) {
	case []any:
		return ListOf(Field{"", v}), true
	case map[string]any:
		if c, ok := v["@context"]; ok {
			r.around = isDefinition(v)
			r.readContext(c, "/@context")
			r.around = false
		} else if r.terse(v) {
			r.Problems.Warnf("context", "", "the policy has no @context: add \"@context\": \"http://www.w3.org/ns/odrl.jsonld\"")
		}
		if offered := r.offered(Field{"", v}, 0); len(offered) > 0 {
			return offered, len(offered) > 1
		}
		if wrapped(v) {
			return ListOf(Field{"/@graph", v["@graph"]}), true
		}
		if f, ok := r.definition(v); ok {
			return []Field{f}, false
		}
	}
	return []Field{{"", tree}}, false
}

// terse reports whether the document uses bare names, which have a meaning only with a context.
func (r *reader) terse(v any) bool {
	m, _ := v.(map[string]any)
	for raw := range m {
		if raw == "@graph" {
			return slices.ContainsFunc(ListOf(Field{Value: m[raw]}), func(f Field) bool { return r.terse(f.Value) })
		}
		if !strings.Contains(raw, ":") && !strings.HasPrefix(raw, "@") {
			return true
		}
	}
	return len(m) == 0
}

// wrapped reports whether the document has a @graph, and no other member except a @context.
func wrapped(tree map[string]any) bool {
	for k := range tree {
		if k != "@graph" && k != "@context" {
			return false
		}
	}
	return tree["@graph"] != nil
}

// isPolicy reports whether a node of a graph is a policy.
func (r *reader) isPolicy(m map[string]any) bool {
	for raw, v := range m {
		switch name, _ := r.key(raw); name {
		case "permission", "prohibition", "obligation", "inheritFrom", "conflict", "profile":
			return true
		case "@type":
			for _, f := range ListOf(Field{Value: v}) {
				if s, ok := f.Value.(string); ok {
					if t, ok := r.Local(s, r.Namespaces); ok && Known(PolicyTypes, t) {
						return true
					}
				}
			}
		}
	}
	return false
}

// Known reports whether the map has the key.
func Known[V any](m map[string]V, k string) bool { _, ok := m[k]; return ok }

// Within reports whether b has every key of a.
func Within(a, b map[string]bool) bool {
	for k := range a {
		if !b[k] {
			return false
		}
	}
	return true
}

// policy reads one policy.
func (r *reader) policy(f Field) *Document {
	o := r.node(f, "a policy", policyRole)
	if o == nil {
		return nil
	}
	if f.Pointer == "" {
		o.take("@context")
	}
	d := &Document{Pointer: f.Pointer, facts: r.Facts, notes: o.notes, keys: o.filled}
	r.head(o, d)
	d.actions = r.actionList(o)
	d.targets = r.references(o, "target", "a target")
	d.relations = r.relations(o)
	d.Asset = r.references(o, "asset", "an asset")
	d.parties = map[string][]Reference{}
	r.partyFields(o, d.parties)
	r.partyList(o, d.parties)
	for _, group := range []struct {
		key  string
		kind RuleKind
	}{{"permission", Permission}, {"prohibition", Prohibition}, {"obligation", Obligation}, {"duty", Obligation}} {
		list := o.items(group.key)
		if group.key == "duty" && len(list) > 0 {
			r.Problems.Warnf("duty", list[0].Pointer, "a duty of the policy itself is read as an obligation: write obligation instead")
		}
		for _, item := range list {
			if rule := r.rule(item, group.kind); rule != nil {
				d.Rules = append(d.Rules, rule)
			}
		}
	}
	o.close("a policy")
	return d
}

func (r *reader) head(o *object, d *Document) {
	if f, ok := o.one("@id"); ok {
		d.uid = r.nodeID(f, "the uid of a policy")
	}
	r.types(o, d)
	for _, f := range o.items("profile") {
		if iri, ok := r.iri(f, "a profile"); ok {
			d.profiles = append(d.profiles, Reference{Pointer: f.Pointer, IRI: iri})
			r.profile(iri, f.Pointer)
		}
	}
	for _, link := range []struct {
		key  string
		into *[]Reference
	}{{"inheritFrom", &d.inherits}, {"isReplacedBy", &d.ReplacedBy}} {
		for _, f := range o.items(link.key) {
			if iri, ok := r.iri(f, link.key); ok {
				*link.into = append(*link.into, Reference{Pointer: f.Pointer, IRI: iri})
			}
		}
	}
	d.strategies = r.conflict(o)
}

// nodeID returns the IRI of a node, or "" for a blank node, which has no name outside the document.
func (r *reader) nodeID(f Field, what string) string {
	if id := r.idOf(map[string]any{"@id": f.Value}); blank(id) {
		if what == "the uid of a policy" {
			r.Problems.Doubtf("iri", f.Pointer, "%s must be an absolute IRI, not the blank node %s", what, Quote(id))
		}
		return ""
	}
	iri, _ := r.iri(f, what)
	return iri
}

func (r *reader) types(o *object, d *Document) {
	for _, f := range o.items("@type") {
		s, ok := r.word(f, "a type")
		if !ok {
			continue
		}
		d.TypesAt = cmp.Or(d.TypesAt, f.Pointer)
		if iri := r.Expand(s); Absolute(iri) && !r.ofODRL(iri) {
			if !slices.Contains(d.classes, iri) {
				d.classes = append(d.classes, iri)
			}
			continue
		}
		if t, ok := r.term(class{what: "policy type", known: SortedKeys(PolicyTypes)}, f, s); ok && !slices.Contains(d.Types, t) {
			d.Types = append(d.Types, t)
		}
	}
}

// profile reports a profile that is not known. For a known profile whose terms are not defined, it accepts unknown terms. See ODRL IM,
// section 2.1.
func (r *reader) profile(iri, pointer string) {
	rest, _ := Bare(iri)
	switch {
	case slices.Contains(profiles, rest) || slices.Contains(r.added.profiles, iri):
	case slices.Contains(r.profiles, iri) || modelProfiles().MatchString(rest) && !r.Served:
		r.open = true
	default:
		r.Problems.Errorf("unknown-profile", pointer, "the profile %s is not known%s", Quote(iri), r.suggestProfile(iri))
	}
}

func (r *reader) suggestProfile(iri string) string {
	if name := vocabulary.NameOf(iri); name != "" {
		return ": " + r.load(name)
	}
	rest, _ := Bare(iri)
	if s := Suggest(rest, profiles); s != "" {
		return s
	}
	return ": ODRL's own terms need no profile; for UIM's terms, use http://" + profiles[1] + "; for any other profile, " + r.load("")
}

// conflict reads the conflict strategies. It reports a problem if there are several, but returns all of them, because a merge may have
// several.
func (r *reader) conflict(o *object) []Strategy {
	list := o.items("conflict")
	if len(list) > 1 {
		r.Problems.Doubtf("cardinality", list[0].Pointer[:strings.LastIndexByte(list[0].Pointer, '/')],
			"conflict takes exactly one value, not %d", len(list))
	}
	var found []Strategy
	for _, f := range list {
		s, ok := r.word(f, "conflict")
		if !ok {
			continue
		}
		t, ok := r.term(class{what: "conflict strategy", known: []string{"perm", "prohibit", "invalid"}}, f, s)
		if !ok {
			continue
		}
		value := map[string]Strategy{"perm": PermissionWins, "prohibit": ProhibitionWins, "invalid": VoidOnConflict}[t]
		if !slices.Contains(found, value) {
			found = append(found, value)
		}
	}
	return found
}

// PointerName formats a JSON pointer for a message.
func PointerName(p string) string {
	if p == "" {
		return "the top of the document"
	}
	return p
}
