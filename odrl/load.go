package odrl

import (
	"bytes"
	"context"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// MaxDocument bounds the bytes of a policy.
const MaxDocument = model.MaxDocument

// LoadOptions configure Load.
type LoadOptions struct {
	// Lenient accepts policies that ODRL IM 2.2 calls invalid as far as they can be evaluated: a rule without an action, a target or an
	// assignee applies to any, and unknown keys and terms are warnings. Without it each is an error.
	Lenient bool
	// Policy is the uid of the wanted policy, if the document holds several.
	Policy string
	// Profiles are IRIs of further known profiles. Their terms are accepted without being known.
	Profiles []string
	// Vocabularies are those of further profiles: their terms are known, with what they are part of.
	Vocabularies []*Vocabulary
}

// Load makes a Policy of any ODRL document, to be evaluated by itself: IRIs mean themselves, no intents and no agents are looked up, and
// nothing need be enforceable. Publish is for policies that the gateway enforces. The list holds errors and warnings with their JSON
// pointers; if it holds an error the Policy is nil. Loading is bounded by the document and its expansion, and fetches nothing.
func Load(ctx context.Context, doc []byte, o LoadOptions) (*Policy, problem.List) {
	found := model.Findings{Lenient: o.Lenient}
	l := model.OpenLibrary(ctx, doc, model.Beside{Profiles: o.Profiles, Vocabularies: o.Vocabularies}, &found)
	if l == nil || found.Failed() {
		return nil, found.List
	}
	d := l.Choose(o.Policy)
	if found.Failed() {
		return nil, found.List
	}
	expanded := l.Expanded(d)
	l.Check(expanded)
	form := l.NormalForm(expanded)
	if found.Failed() {
		return nil, found.List
	}
	p := &Policy{form: form, document: bytes.Clone(doc), warnings: found.List, evaluation: newEvaluation(form, nil)}
	return p, p.Warnings()
}

// ValidateOptions configure Validate.
type ValidateOptions struct {
	// Lenient warns of what Load accepts in that mode.
	Lenient bool
	// Profiles are IRIs of further known profiles. Their terms are accepted without being known.
	Profiles []string
	// Vocabularies are those of further profiles: their terms are known, with what they are part of.
	Vocabularies []*Vocabulary
}

// Validate checks every policy of a document against ODRL IM 2.2 and ODRL V 2.2. The policy is valid if the list holds no error. Warnings
// concern what is permitted but probably a mistake: rules that conflict under some requests or can never be active, values that do not
// fit their operand, deprecated terms. Whether the gateway could enforce it depends on the service: Publish checks that.
func Validate(ctx context.Context, doc []byte, o ValidateOptions) problem.List {
	found := model.Findings{Lenient: o.Lenient}
	l := model.OpenLibrary(ctx, doc, model.Beside{Profiles: o.Profiles, Vocabularies: o.Vocabularies}, &found)
	if l == nil {
		return found.List
	}
	if len(l.List) == 0 {
		found.Errorf("no-policy", "", "the document contains no policy")
	}
	l.Spellings()
	for _, d := range l.List {
		if found.Full() {
			break
		}
		expanded := l.Expanded(d)
		l.Check(expanded)
		l.Advise(expanded)
		if found.Failed() {
			continue
		}
		if form := l.NormalForm(expanded); !found.Failed() {
			rules.Analyse(l, form)
		}
	}
	return found.List
}

// Canonical encodes a document as ODRL's own JSON-LD, in the canonical form of RFC 8785: terms of ODRL by their names in its context, all
// others as IRIs, every node at its first reference, UIM's short forms as the constraints that they abbreviate. Reading it gives the same
// policies, and encoding it again the same bytes. It is nil if the list holds an error. It ignores the option Policy: all policies are
// written.
func Canonical(doc []byte, o LoadOptions) ([]byte, problem.List) {
	found := model.Findings{Lenient: o.Lenient}
	out := model.Canonical(context.Background(), doc, model.Beside{Profiles: o.Profiles, Vocabularies: o.Vocabularies}, &found)
	return out, found.List
}
