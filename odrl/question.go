package odrl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

const (
	// MaxQuestion is the maximum size in bytes of a question, and of a state of the world.
	MaxQuestion = 1 << 20
	// maxOperands is the maximum number of operands with facts in one question.
	maxOperands = 256
)

// A Question asks whether a party may perform one action on one asset, given some facts. Its names are IRIs or terms.
type Question struct {
	Party  string // empty means an unknown party
	Action string
	Target string // empty means no particular asset
	// Context holds the values of left operands, by local name or IRI: strings, json.Number, bool, objects with @value and @type, or lists of
	// these. An operand without a value is unknown.
	Context map[string]any
}

// ErrQuestion means that a document is not a question that can be evaluated.
var ErrQuestion = errors.New("not a request that can be evaluated")

// ParseQuestion parses a document of at most MaxQuestion bytes: an object with the members party, action, target and context, or an
// odrl:Request with one permission whose constraints state the facts. If lenient is true, the target may be missing, and ParseQuestion
// ignores unknown members, constraints that state no fact, and the type of the policy. The error wraps ErrQuestion, and names the problem
// and its position but no values.
func ParseQuestion(doc []byte, lenient bool) (Question, error) {
	if len(doc) > MaxQuestion {
		return Question{}, fmt.Errorf("%w: it has %d bytes; the maximum is %d", ErrQuestion, len(doc), MaxQuestion)
	}
	tree, err := strictjson.DecodeObject(doc)
	if err != nil {
		return Question{}, fmt.Errorf("%w: %w", ErrQuestion, err)
	}
	var q Question
	if isQuestion(tree) {
		q, err = readQuestion(tree, lenient)
	} else {
		q, err = readRequest(doc, lenient)
	}
	if err != nil {
		return Question{}, fmt.Errorf("%w: %w", ErrQuestion, err)
	}
	if q.Action == "" {
		return Question{}, fmt.Errorf("%w: it has no action", ErrQuestion)
	}
	if len(q.Context) > maxOperands {
		return Question{}, fmt.Errorf("%w: it gives facts for %d operands; the maximum is %d", ErrQuestion, len(q.Context), maxOperands)
	}
	return q, nil
}

// isQuestion reports whether a tree is a plain question, and not an ODRL document, which has a permission or a @graph.
func isQuestion(tree map[string]any) bool {
	of := []string{"permission", "odrl:permission", "http://www.w3.org/ns/odrl/2/permission", "@graph"}
	return !slices.ContainsFunc(of, func(name string) bool { return model.Known(tree, name) })
}

func readQuestion(tree map[string]any, lenient bool) (Question, error) {
	q := Question{Context: map[string]any{}}
	for _, k := range model.SortedKeys(tree) {
		var ok bool
		switch k {
		case "party":
			q.Party, ok = model.NameOf(tree[k])
		case "action":
			q.Action, ok = model.NameOf(tree[k])
		case "target":
			q.Target, ok = model.NameOf(tree[k])
		case "context":
			switch c := tree[k].(type) {
			case nil:
				ok = true
			case map[string]any:
				q.Context, ok = c, true
			}
			if !ok {
				return q, errors.New("/context must be an object with operands and their values")
			}
		default:
			if lenient || k == "@context" || k == "uid" || k == "@id" || k == "description" {
				continue
			}
			return q, fmt.Errorf("%s is an unknown member: a question has party, action, target and context", pointerTo(k))
		}
		if !ok {
			return q, fmt.Errorf("%s must be a name: an IRI or a term", pointerTo(k))
		}
	}
	if !lenient && q.Target == "" {
		return q, errors.New("it has no target")
	}
	return q, nil
}

func pointerTo(key string) string { return model.Quote("/" + strictjson.Escape(key)) }

// readRequest reads an ODRL policy of type Request (ODRL V 3.2) that asks for one permission.
func readRequest(doc []byte, lenient bool) (Question, error) {
	p, problems := Load(context.Background(), doc, LoadOptions{Lenient: true})
	for _, x := range problems {
		if x.Level == problem.Error {
			return Question{}, errors.New(x.String())
		}
	}
	if !lenient && !slices.Contains(p.form.Types, "Request") {
		return Question{}, errors.New("it is neither {party, action, target, context} nor a policy of type Request")
	}
	if len(p.form.Rules) != 1 || p.form.Rules[0].Kind != model.Permission {
		return Question{}, errors.New("a Request must have exactly one permission, with one action, one target and one assignee")
	}
	a := p.form.Rules[0]
	q := Question{Context: map[string]any{}}
	constraints := slices.Clone(a.Constraints)
	if a.Action != nil {
		q.Action = a.Action.Name
		constraints = append(constraints, a.Action.Refinements...)
	}
	if a.Target != nil {
		q.Target = a.Target.Name()
		constraints = append(constraints, a.Target.Refinements...)
	}
	if who := a.Parties["assignee"]; who != nil {
		q.Party = who.Name()
		constraints = append(constraints, who.Refinements...)
	}
	for _, c := range model.Flatten(constraints) {
		values, ok := given(c)
		switch {
		case ok:
			q.Context[c.Operand] = values
		case !lenient:
			return Question{}, fmt.Errorf("%s: a constraint of a Request must state a fact: write leftOperand eq value", c.Pointer)
		}
	}
	return q, nil
}

// given returns the values that a constraint of a Request states as facts. It returns false if the constraint states no fact.
func given(c *model.Constraint) (any, bool) {
	if c.Logic != "" || c.Operator != "eq" && c.Operator != "isAnyOf" && c.Operator != "isAllOf" || len(c.Right) == 0 {
		return nil, false
	}
	list := make([]any, 0, len(c.Right))
	for _, r := range c.Right {
		if r.Window {
			return nil, false
		}
		if c.Unit.IRI != "" {
			list = append(list, map[string]any{"value": r.Text, "unit": c.Unit.IRI})
			continue
		}
		list = append(list, r.Text)
	}
	return list, c.Operator == "isAllOf" || len(list) == 1
}
