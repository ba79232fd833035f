package odrl

import (
	"context"
	"fmt"
	"slices"
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

// A reader turns the JSON tree of a policy into a document.
type reader struct {
	*names
	ctx         context.Context //nolint:containedctx // the reader lives as long as one Publish
	rules       int
	named       int
	constraints int
	uids        map[string]string // uid of a node → pointer
	stopped     bool
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

func (n *names) knownNamespaces(w *world) {
	n.namespaces = []string{odrlNS, uimNS, ccNS}
	for _, p := range profiles[1:] {
		n.namespaces = append(n.namespaces, p+"/", p+"#")
	}
	for _, host := range w.hostList {
		n.namespaces = append(n.namespaces, host+"/vocab/")
	}
}

// policy reads the whole document. The result is of use only where no problem is an error.
func (r *reader) policy(tree map[string]any) *document {
	f := field{"", tree}
	if c, ok := tree["@context"]; ok {
		r.readContext(c, "/@context")
	} else {
		r.problems.Warnf("context", "", "the policy has no @context: write \"@context\": \"http://www.w3.org/ns/odrl.jsonld\"")
	}
	if wrapped(tree) {
		list := listOf(field{"/@graph", tree["@graph"]})
		if len(list) != 1 {
			r.problems.Errorf("graph", "/@graph", "a document holds exactly one policy, not %d nodes", len(list))
			return nil
		}
		f = list[0]
	}
	o := r.object(f, "a policy")
	if o == nil {
		return nil
	}
	if f.pointer == "" {
		o.take("@context")
	}
	d := &document{parties: map[string][]reference{}}
	r.head(o, d)
	d.actions = r.actionList(o)
	d.targets = r.references(o, "target", "a target")
	d.asset = r.references(o, "asset", "an asset")
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
	if len(d.rules) == 0 && !r.problems.failed() {
		r.problems.Errorf("no-rule", "", "a policy has at least one permission, prohibition or obligation")
	}
	return d
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

func (r *reader) head(o *object, d *document) {
	if f, ok := o.one("@id"); !ok {
		r.problems.Errorf("uid", o.pointer, "a policy needs a uid: an IRI that names it")
	} else if uid, ok := r.iri(f, "the uid of a policy"); ok {
		d.uid = uid
		r.uids[uid] = f.pointer
	}
	for _, f := range o.items("@type") {
		if s, ok := r.word(f, "a type"); ok {
			if t, ok := r.term(class{"policy type", sortedKeys(policyTypes), nil}, f, s); ok {
				d.types = append(d.types, t)
				if !policyTypes[t] {
					r.problems.Errorf("type", f.pointer, "a policy of type %s grants nothing: publish a Set, an Offer or an Agreement", t)
				}
			}
		}
	}
	if slices.Contains(d.types, "Offer") && slices.Contains(d.types, "Agreement") {
		r.problems.Errorf("type", o.pointer, "a policy cannot be an Offer and an Agreement at once")
	}
	for _, f := range o.items("profile") {
		if iri, ok := r.iri(f, "a profile"); ok {
			if rest, _ := bare(iri); !slices.Contains(profiles, rest) {
				r.problems.Errorf("unknown-profile", f.pointer, "the profile %s is not known%s", quote(iri), suggestProfile(rest))
			}
		}
	}
	d.strategy = r.conflict(o)
}

func suggestProfile(rest string) string {
	if s := suggest(rest, profiles); s != "" {
		return s
	}
	return ": use http://" + profiles[1] + " for UIM's terms, or none for ODRL's own"
}

func (r *reader) conflict(o *object) strategy {
	f, ok := o.one("conflict")
	if !ok {
		return voidOnConflict
	}
	s, ok := r.word(f, "conflict")
	if !ok {
		return voidOnConflict
	}
	switch t, _ := r.term(class{"conflict strategy", []string{"perm", "prohibit", "invalid"}, nil}, f, s); t {
	case "perm":
		return permissionWins
	case "prohibit":
		return prohibitionWins
	default:
		return voidOnConflict
	}
}

// uid takes the uid of a node; two nodes of one uid are an error.
func (r *reader) uid(o *object, what string) string {
	f, ok := o.one("@id")
	if !ok {
		return ""
	}
	s, ok := r.iri(f, fmt.Sprintf("the uid of %s", what))
	if !ok {
		return ""
	}
	if first, twice := r.uids[s]; twice {
		r.problems.Errorf("duplicate", f.pointer, "the uid %s is already taken at %s", quote(s), pointerName(first))
	}
	r.uids[s] = f.pointer
	return s
}

func pointerName(p string) string {
	if p == "" {
		return "the top"
	}
	return p
}
