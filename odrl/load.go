package odrl

import (
	"bytes"
	"context"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// MaxDocument is the maximum size of a policy document in bytes.
const MaxDocument = model.MaxDocument

// LoadOptions configure Load.
type LoadOptions struct {
	// Lenient makes Load accept policies that are invalid under ODRL IM 2.2 but can still be evaluated. A rule without an action, a target or
	// an assignee then applies to every action, target or assignee, and unknown keys and terms are only warnings. If Lenient is false,
	// whatever ODRL IM 2.2 does not permit is an error.
	Lenient bool
	// Policy is the uid of the policy to load. If it is empty, Load takes the only policy that no other policy inherits from or replaces.
	Policy string
	// Profiles are the IRIs of additional profiles to accept. Their terms are accepted without a definition.
	Profiles []string
	// Vocabularies define the terms of additional profiles, and the broader terms of each.
	Vocabularies []*Vocabulary
}

// Load makes a Policy from any ODRL document, for evaluation on its own. Load looks up no intents and no agents; an IRI therefore refers
// only to itself. The policy need not be enforceable. Use Publish for a policy that the gateway enforces. The list contains errors and
// warnings with their JSON pointers; if it contains an error, the Policy is nil. Load fetches nothing. The sizes of the document and of its
// expansion bound its work.
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
	// Lenient turns the errors that a lenient Load accepts into warnings.
	Lenient bool
	// Profiles are the IRIs of additional profiles to accept. Their terms are accepted without a definition.
	Profiles []string
	// Vocabularies define the terms of additional profiles, and the broader terms of each.
	Vocabularies []*Vocabulary
}

// Validate checks every policy of a document against ODRL IM 2.2 and ODRL V 2.2. The document is valid if the list contains no error.
// Warnings concern parts that are valid but probably mistakes: rules that conflict for some requests or can never be active, values that do
// not suit their operand, and deprecated terms. Whether the gateway can enforce a policy depends on the service; Publish checks that.
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

// Canonical encodes a document as ODRL JSON-LD in the canonical form of RFC 8785. Terms of ODRL are written with their names in the ODRL
// context, all other terms as IRIs. Every node is written at its first reference, and the short forms of UIM are written as the constraints
// that they abbreviate. Reading the result gives the same policies, and encoding it again gives the same bytes. Canonical ignores the
// option Policy and writes all policies. The result is nil if the list contains an error.
func Canonical(doc []byte, o LoadOptions) ([]byte, problem.List) {
	found := model.Findings{Lenient: o.Lenient}
	out := model.Canonical(context.Background(), doc, model.Beside{Profiles: o.Profiles, Vocabularies: o.Vocabularies}, &found)
	return out, found.List
}
