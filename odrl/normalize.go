package odrl

import "context"

// normalize reads the document and brings it into normal form; of use only where nothing failed.
func normalize(ctx context.Context, tree map[string]any, w givenWorld, found *findings) *normalizer {
	x := newWorld(w)
	x.addHost(policyHost(tree))
	names := newNames(tree, x.hostList, found)
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
	n.expand()
	if !found.failed() {
		n.analyse()
		analyseDuties(l, n.form)
	}
	return n
}
