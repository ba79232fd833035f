package odrl

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/plan"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// A Policy is a published policy: read, checked, resolved against the World and compiled. It is immutable and safe for concurrent use.
type Policy struct {
	form      *model.NormalForm
	document  []byte
	warnings  problem.List
	program   *rules.Program // nil: from Load
	inputs    *plan.Inputs
	plan      *plan.Plan     // nil: every decision uses the prepared query
	residual  *plan.Residual // nil if there is none within its bounds
	unplanned error          // why there is no plan
	memo      decisions
	foreseen  foreseen
	// targetNames are program.Targets, each list as one text. Many intents share one.
	targetNames map[string]string
	evaluation  *evaluation
	wholes      sync.Map // intent of the catalogue → []Membership, looked up once
}

// Publish makes a Policy of an ODRL document as served. Everything in it is enforced or refused: the list holds every error found, each
// with its JSON pointer, and the warnings. If it holds an error the Policy is nil. The work of publishing is counted and never measured,
// so that equal documents have equal results on every machine. It reads only its arguments; it does not fetch remote contexts and
// profiles.
func Publish(ctx context.Context, doc []byte, w World) (*Policy, problem.List) {
	var found model.Findings
	tree := model.DecodeTree(doc, &found)
	m, isObject := tree.(map[string]any)
	if tree != nil && !isObject {
		found.Errorf("json", "", "want a JSON object, not %s", strictjson.Kind(tree))
	}
	if found.Failed() {
		return nil, found.List
	}
	if err := strictjson.Exact(tree); err != nil {
		pointer := ""
		if e, ok := errors.AsType[*strictjson.InexactError](err); ok {
			pointer = e.Pointer
		}
		found.Errorf("inexact", pointer, "this number does not survive RFC 8785, the form that agents sign: write it as a string")
		return nil, found.List
	}
	compiled := rules.Compile(ctx, m, w, &found)
	if compiled == nil {
		return nil, found.List
	}
	p := &Policy{
		form: compiled.Form, document: bytes.Clone(doc), program: compiled, inputs: plan.NewInputs(compiled),
		evaluation: newEvaluation(compiled.Form, compiled.World),
	}
	p.targetNames = make(map[string]string, len(compiled.Targets))
	for uid, names := range compiled.Targets {
		p.targetNames[uid] = strings.Join(names, "\x00")
	}
	p.plan, p.residual, p.unplanned = plan.Compile(ctx, compiled, p.inputs, plan.UsualBounds)
	p.warnings = found.List
	return p, p.Warnings()
}

// UID returns the policy's own name, an IRI.
func (p *Policy) UID() string { return p.form.UID }

// Document returns the policy as published, byte for byte.
func (p *Policy) Document() []byte { return bytes.Clone(p.document) }

// Charges reports whether a call under the policy can cost something.
func (p *Policy) Charges() bool { return len(p.Currencies()) > 0 }

// NamesKeys reports whether the policy requires signatures with particular keys, so that its Terms and Decisions differ for agents with
// different keys.
func (p *Policy) NamesKeys() bool { return p.program != nil && p.program.Keys }

// Currencies are those of the policy's charges (ISO 4217), sorted.
func (p *Policy) Currencies() []string {
	if p.program == nil {
		return nil
	}
	return slices.Clone(p.program.Currencies)
}

// Warnings returns what Publish found but did not refuse.
func (p *Policy) Warnings() problem.List { return slices.Clone(p.warnings) }

// Operands returns the left operands whose facts the policy reads, by local name, sorted. dateTime is the clock of the request and
// version that of the intent; the others are looked up in Request.Facts.
func (p *Policy) Operands() []string {
	if p.program == nil {
		return nil
	}
	var list []string
	for _, s := range p.program.Slots {
		if !slices.Contains(list, s.Operand) {
			list = append(list, s.Operand)
		}
	}
	slices.Sort(list)
	return list
}

// Engine returns the engine that evaluates the policy and, if that is OPA alone, the reason: what in the policy, or in publishing it,
// prevented a plan. Single decisions of a policy with a plan can still be OPA's, as their Engine reports.
func (p *Policy) Engine() (e Engine, reason string) {
	switch {
	case p.program == nil:
		return EngineOPA, "the policy is not published"
	case p.plan == nil:
		return EngineOPA, p.unplanned.Error()
	default:
		return EnginePlan, ""
	}
}

// Model is the policy in normal form and, of one from Publish, the rules it was compiled to. It is for the packages below
// this one, which put a policy into words.
func (p *Policy) Model() (*model.NormalForm, *rules.Program) { return p.form, p.program }
