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
	l := openLibrary(ctx, doc, o.Profiles, &found)
	if l == nil || found.failed() {
		return nil, found.list
	}
	d := l.choose(o.Policy)
	if found.failed() {
		return nil, found.list
	}
	expanded := l.expanded(d)
	l.check(expanded)
	form := l.normalForm(expanded)
	if found.failed() {
		return nil, found.list
	}
	p := &Policy{form: form, document: bytes.Clone(doc), warnings: found.list, evaluation: newEvaluation(form, nil)}
	return p, p.Warnings()
}

// ValidateOptions say how Validate reads a document.
type ValidateOptions struct {
	// Lenient warns of what Load takes in that mode.
	Lenient bool
	// Profiles are IRIs of further profiles that are known. Their terms are taken as they are.
	Profiles []string
}

// Validate holds every policy of a document against ODRL IM 2.2 and ODRL V 2.2. The policy is valid
// where the list holds no error. Warnings tell what is allowed and hardly meant: rules that conflict
// under some requests or can never be active, values that do not fit their operand, deprecated terms.
// Whether the gateway could enforce it is for Publish to say, which knows the service.
func Validate(ctx context.Context, doc []byte, o ValidateOptions) problem.List {
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	found := findings{lenient: o.Lenient}
	l := openLibrary(ctx, doc, o.Profiles, &found)
	if l == nil {
		return found.list
	}
	if len(l.list) == 0 {
		found.Errorf("no-policy", "", "the document holds no policy")
	}
	l.spellings()
	for _, d := range l.list {
		if found.full() {
			break
		}
		expanded := l.expanded(d)
		l.check(expanded)
		l.advise(expanded)
		if found.failed() {
			continue
		}
		if form := l.normalForm(expanded); !found.failed() {
			analyseForm(l, form)
		}
	}
	return found.list
}

// Canonical writes a document as ODRL's own JSON-LD, in the canonical form of RFC 8785: terms of ODRL by
// their names in its context, all others as IRIs, every node where it is referred to, UIM's short forms
// as the constraints that they stand for. Reading it gives the same policies, and writing it again the
// same bytes. It is nil where the list holds an error; lenient and profiles are those of LoadOptions.
func Canonical(doc []byte, lenient bool, profiles ...string) ([]byte, problem.List) {
	ctx, cancel := context.WithTimeout(context.Background(), publishTime)
	defer cancel()
	found := findings{lenient: lenient}
	out := canonicalDocument(ctx, doc, profiles, &found)
	return out, found.list
}
