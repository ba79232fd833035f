package rules

import (
	"context"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// normalize reads the document and normalizes it. The result is usable only if found has no errors.
func normalize(ctx context.Context, tree map[string]any, w World, found *model.Findings) *normalizer {
	x := newWorld(w)
	x.addHost(model.PolicyHost(tree))
	names := model.NewNames(tree, x.hostList, found)
	names.Served = true
	names.Adopt(w.Vocabularies)
	r := model.NewReader(ctx, names)
	list := r.Documents(tree)
	n := &normalizer{compiler: newCompiler(names, enforcing), ctx: ctx, w: x, parties: map[string][]string{}, used: map[string]*Target{}}
	if found.Failed() {
		return n
	}
	l := model.NewLibrary(r, list)
	if found.Failed() {
		return n
	}
	d := l.Choose("")
	if found.Failed() {
		return n
	}
	n.d, x.facts = l.Expanded(d), r.Facts
	l.Check(n.d)
	n.publishable()
	if found.Failed() {
		return n
	}
	n.form = l.NormalForm(n.d)
	n.expand()
	n.boundPlans()
	if !found.Failed() {
		n.analyse()
		newAnalyst(n.compiler, n.form).all(false)
	}
	return n
}
