package odrl

import (
	"bytes"
	"context"

	"github.com/uimgate/uimgate/internal/problem"
)

// LoadOptions say how Load reads a document.
type LoadOptions struct {
	// Lenient takes policies that ODRL IM 2.2 calls invalid as far as they can be evaluated: a rule
	// without an action, a target or an assignee is about any, and keys and terms that are not known are
	// warned of. Without it each is an error.
	Lenient bool
	// Policy is the uid of the policy that is meant, where the document holds several.
	Policy string
	// Profiles are IRIs of further profiles that are known. Their terms are taken as they are.
	Profiles []string
}

// Load makes a Policy of any ODRL document, to be evaluated with what it says alone: IRIs name what they
// name, no intents and no agents are looked up, and nothing need be enforceable. Publish is for policies
// that the gateway enforces. The list holds errors and warnings with their JSON pointers; where it holds
// an error the Policy is nil. Loading spends at most two seconds and fetches nothing.
func Load(ctx context.Context, doc []byte, o LoadOptions) (*Policy, problem.List) {
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	found := findings{lenient: o.Lenient}
	l := openLibrary(ctx, doc, o, &found)
	if found.failed() {
		return nil, found.list
	}
	d := l.choose(o.Policy)
	if found.failed() {
		return nil, found.list
	}
	expanded := l.expanded(d)
	form := l.normalForm(expanded)
	if found.failed() {
		return nil, found.list
	}
	p := &Policy{form: form, uid: form.uid, document: bytes.Clone(doc), strategy: form.strategy(), warnings: found.list, evaluation: &evaluation{}}
	return p, p.Warnings()
}

// openLibrary reads the policies of a document; of use only where nothing failed.
func openLibrary(ctx context.Context, doc []byte, o LoadOptions, found *findings) *library {
	tree := decodeTree(doc, found)
	if found.failed() {
		return nil
	}
	names := newNames(tree, newWorld(World{}), found)
	names.profiles = o.Profiles
	r := newReader(ctx, names)
	list := r.documents(tree)
	if found.failed() {
		return nil
	}
	return newLibrary(r, list)
}
