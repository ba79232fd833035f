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

// A Policy is an ODRL policy from Publish or Load. Publish resolves its names against a World and compiles it for the gateway. A Policy is
// immutable and safe for concurrent use.
type Policy struct {
	form      *model.NormalForm
	document  []byte
	warnings  problem.List
	program   *rules.Program // nil for a policy from Load
	inputs    *plan.Inputs
	plan      *plan.Plan     // if nil, OPA makes every decision
	residual  *plan.Residual // nil if partial evaluation failed or exceeded its bounds
	unplanned error          // why there is no plan
	memo      decisions
	foreseen  foreseenTerms
	// targetNames maps the UID of an intent to its list in program.Targets, joined into one string.
	targetNames map[string]string
	evaluation  *evaluation
	wholes      sync.Map // intent of the catalogue → []Membership, looked up once
}

// Publish makes a Policy from an ODRL document as served. Everything in the document is either enforced or rejected: the list contains all
// errors that were found, each with its JSON pointer, and the warnings. If it contains an error, the Policy is nil. Publish limits its work
// by counting steps and not by measuring time, so that equal documents give equal results on every machine. It reads only its arguments,
// and does not fetch remote contexts or profiles.
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
		found.Errorf("inexact", pointer, "RFC 8785, the form that agents sign, cannot represent this number exactly: write it as a string")
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

// UID returns the IRI that identifies the policy.
func (p *Policy) UID() string { return p.form.UID }

// Document returns a copy of the document that the policy was read from, byte for byte.
func (p *Policy) Document() []byte { return bytes.Clone(p.document) }

// Charges reports whether a call under the policy can cost money.
func (p *Policy) Charges() bool { return len(p.Currencies()) > 0 }

// Covers reports whether the policy decides about the intent: a permission applies to its calls by some agent and under some conditions, or
// a prohibition forbids all of them.
func (p *Policy) Covers(intent string) bool {
	if !p.names(intent) {
		return false
	}
	for _, r := range p.program.Rules {
		if !model.Includes(r.Action, "execute") || !slices.Contains(p.program.Targets[intent], r.Target.Name) {
			continue
		}
		if r.Kind == model.Permission || r.Kind == model.Prohibition && r.Assignee == "" && r.Unconditional() && !r.Bounds() {
			return true
		}
	}
	return false
}

// NamesKeys reports whether the policy requires signatures with particular keys. Its Terms and Decisions then differ for agents with
// different keys.
func (p *Policy) NamesKeys() bool { return p.program != nil && p.program.Keys }

// Currencies returns the ISO 4217 codes of the currencies in which the policy charges, sorted.
func (p *Policy) Currencies() []string {
	if p.program == nil {
		return nil
	}
	return slices.Clone(p.program.Currencies)
}

// Warnings returns the warnings that Publish or Load found.
func (p *Policy) Warnings() problem.List { return slices.Clone(p.warnings) }

// Operands returns the local names of the left operands whose facts the policy reads, sorted. The value of dateTime is Request.Now and that
// of version comes from Request.Intent; all other values are looked up in Request.Facts.
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

// Engine returns the engine that evaluates the policy. If the policy has no plan, the engine is OPA, and reason describes the part that
// prevented the plan. OPA can still make individual decisions for a policy with a plan; Decision.Engine names the engine of each decision.
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

// Model returns the normal form of the policy and, for a policy from Publish, its compiled rules. It is for the packages below this one,
// such as words.
func (p *Policy) Model() (*model.NormalForm, *rules.Program) { return p.form, p.program }
