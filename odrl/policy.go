package odrl

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// publishTime bounds what Publish may spend on one document.
const publishTime = 2 * time.Second

// A Policy is a published policy: read, checked, resolved against the World and compiled. It does not
// change and is safe for concurrent use.
type Policy struct {
	form       *normalForm
	uid        string
	document   []byte
	strategy   strategy
	rules      map[int]*rule
	nodes      map[string]*constraintNode // by id, for telling what was not met
	intents    map[string]*ast.Term       // UID → names of the targets that hold it
	agents     map[string][]policyParty
	slots      []policySlot
	charges    bool
	keys       bool // some duty to sign names a whole key
	currencies []string
	warnings   problem.List
	engine     *engine
	evaluation *evaluation
	spelling   *aliases
}

type policyParty struct {
	iri   *ast.Term
	keyID string
}

// Publish makes a Policy of an ODRL document as it is served. Everything in it is enforced or refused:
// the list holds every error found, each with its JSON pointer, and the warnings. Where it holds an
// error the Policy is nil. Publishing spends at most two seconds. It reads nothing but its arguments;
// remote contexts and profiles are not fetched.
func Publish(ctx context.Context, doc []byte, w World) (*Policy, problem.List) {
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	var found findings
	tree := decodeTree(doc, &found)
	m, isObject := tree.(map[string]any)
	if tree != nil && !isObject {
		found.Errorf("json", "", "want a JSON object, not %s", strictjson.Kind(tree))
	}
	if found.failed() {
		return nil, found.list
	}
	if err := strictjson.Exact(tree); err != nil {
		pointer := ""
		if e, ok := errors.AsType[*strictjson.InexactError](err); ok {
			pointer = e.Pointer
		}
		found.Errorf("inexact", pointer, "this number does not survive RFC 8785, by which agents sign the policy: write it as a string")
		return nil, found.list
	}
	n := normalize(ctx, m, w, &found)
	if found.failed() {
		return nil, found.list
	}
	p := n.policy(doc)
	var err error
	if p.engine, err = newEngine(ctx, n.data()); err != nil {
		found.Errorf("engine", "", "the policy engine does not take this policy: %v", err)
		return nil, found.list
	}
	p.compile(ctx, n.leaves)
	p.warnings = found.list
	return p, p.Warnings()
}

// decodeTree reads the JSON of a document within its bounds; nil, with a problem, where it is none.
func decodeTree(doc []byte, found *findings) any {
	if len(doc) > MaxDocument {
		found.Errorf("too-large", "", "a policy has at most %d bytes, this one has %d", MaxDocument, len(doc))
		return nil
	}
	tree, err := strictjson.Decode(doc)
	if err != nil {
		pointer := ""
		if e, ok := errors.AsType[*strictjson.Error](err); ok {
			pointer = e.Pointer
		}
		found.Errorf("json", pointer, "%v", err)
		return nil
	}
	if tree == nil {
		found.Errorf("json", "", "want a JSON object, not null")
	}
	return tree
}

// normalize reads the document and brings it into normal form; of use only where nothing failed.
func normalize(ctx context.Context, tree map[string]any, w World, found *findings) *normalizer {
	x := newWorld(w)
	names := newNames(tree, x, found)
	names.served = true
	r := newReader(ctx, names)
	list := r.documents(tree)
	n := &normalizer{
		names: names, ctx: ctx, w: x, refs: map[*constraintNode]string{}, logicOf: map[*constraintNode]*compound{},
		parties: map[string][]string{}, used: map[string]*target{}, forms: map[*constraintNode]string{},
	}
	if found.failed() {
		return n
	}
	l := newLibrary(r, list)
	if found.failed() {
		return n
	}
	d := l.choose("")
	if found.failed() {
		return n
	}
	n.d, x.facts = l.expanded(d), r.facts
	l.check(n.d)
	n.publishable()
	if found.failed() {
		return n
	}
	n.form = l.normalForm(n.d)
	n.form.w = x
	n.expand()
	if !found.failed() {
		n.analyse()
		l.analyseDuties(n.form)
	}
	return n
}

// newNames resolves what the document calls things in the world.
func newNames(tree any, x *world, found *findings) *names {
	for _, m := range topNodes(tree) {
		if uid, ok := firstString(m, "uid", "@id", "id", "odrl:uid"); ok {
			x.addPolicyHost(uid)
			break
		}
	}
	names := &names{
		problems: found, prefixes: map[string]string{}, aliases: map[string]string{}, keyNames: map[string]keyName{}, declared: map[string]string{},
	}
	names.knownNamespaces(x)
	return names
}

// topNodes are the objects at the top of the document: itself, or the members of its @graph or list.
func topNodes(tree any) []map[string]any {
	var list []map[string]any
	if m, ok := tree.(map[string]any); ok && wrapped(m) {
		tree = m["@graph"]
	}
	for _, f := range listOf(field{value: tree}) {
		if m, ok := f.value.(map[string]any); ok {
			list = append(list, m)
		}
	}
	return list
}

func firstString(m map[string]any, names ...string) (string, bool) {
	for _, k := range names {
		if s, ok := m[k].(string); ok {
			return s, true
		}
	}
	return "", false
}

func (n *normalizer) policy(doc []byte) *Policy {
	p := &Policy{
		form: n.form, uid: n.d.uid, document: bytes.Clone(doc), strategy: n.d.strategy(), rules: map[int]*rule{}, nodes: map[string]*constraintNode{},
		intents: n.intentTargets(), agents: map[string][]policyParty{}, evaluation: newEvaluation(n.form), spelling: n.spelled(),
	}
	for _, r := range n.rules {
		p.rules[r.n] = r
		for _, d := range r.duties {
			p.keys = p.keys || len(d.keys) > 0
			if !d.charge.IsZero() && !slices.Contains(p.currencies, d.charge.Currency) {
				p.currencies = append(p.currencies, d.charge.Currency)
			}
		}
	}
	slices.Sort(p.currencies)
	p.charges = len(p.currencies) > 0
	for _, l := range n.leaves {
		p.nodes[l.id] = l.source
		if !slices.ContainsFunc(p.slots, func(s policySlot) bool { return s.slot == l.slot }) {
			p.slots = append(p.slots, policySlot{l.slot, operands[l.slot.operand], ast.StringTerm(l.slot.key()), l.read})
		}
	}
	for _, c := range n.compounds {
		p.nodes[c.id] = c.source
	}
	for _, iri := range n.boundParties() {
		party := n.w.Parties[iri]
		p.agents[party.AgentID] = append(p.agents[party.AgentID], policyParty{ast.StringTerm(iri), party.KeyID})
	}
	return p
}

// intentTargets lists for each intent the targets of the policy that hold it.
func (n *normalizer) intentTargets() map[string]*ast.Term {
	lists := make([][]*ast.Term, len(n.w.Intents))
	for _, name := range sortedKeys(n.used) {
		term := ast.StringTerm(name)
		for _, i := range n.used[name].members {
			lists[i] = append(lists[i], term)
		}
	}
	m := make(map[string]*ast.Term, len(lists))
	for i, list := range lists {
		if len(list) > 0 {
			m[n.w.Intents[i].UID] = ast.ArrayTerm(list...)
		}
	}
	return m
}

// UID is the policy's own name, an IRI.
func (p *Policy) UID() string { return p.uid }

// Document is the policy as published, byte for byte.
func (p *Policy) Document() []byte { return bytes.Clone(p.document) }

// Charges reports whether a call under the policy can cost something.
func (p *Policy) Charges() bool { return p.charges }

// NamesKeys reports whether the policy asks for signatures with particular keys, so that its Terms and Decisions
// are different for agents with different keys.
func (p *Policy) NamesKeys() bool { return p.keys }

// Currencies are those of the policy's charges (ISO 4217), sorted.
func (p *Policy) Currencies() []string { return slices.Clone(p.currencies) }

// Warnings are what Publish found and did not refuse.
func (p *Policy) Warnings() problem.List { return slices.Clone(p.warnings) }

// Operands are the left operands whose facts the policy reads, by local name, sorted. dateTime is the
// clock of the request and version that of the intent; the others are looked up in Request.Facts.
func (p *Policy) Operands() []string {
	var list []string
	for _, s := range p.slots {
		if !slices.Contains(list, s.operand) {
			list = append(list, s.operand)
		}
	}
	slices.Sort(list)
	return list
}
