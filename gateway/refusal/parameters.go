package refusal

import (
	"errors"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/intents/schema"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// InvalidParameters refuses parameters, and lists their violations. There must be at least one. The reason is that of the first violation.
// at is the JSON pointer to the parameters in the body; every pointer in the refusal starts with it.
func InvalidParameters(at string, violations []schema.Violation) *reason.Refusal {
	violations = slices.Clone(violations)
	for i := range violations {
		violations[i].Pointer = at + violations[i].Pointer
	}
	return invalid(violations)
}

func invalid(violations []schema.Violation) *reason.Refusal {
	f := violations[0].Reason.Refusal("The parameters are not valid for this intent.")
	if len(violations) == 1 {
		f.Message = "The parameter at " + violations[0].Pointer + " is not valid for this intent: " + violations[0].Message + "."
	}
	return f.With("violations", violations)
}

// UnsendableParameters refuses parameters that cannot be encoded in a request to the service. at is the JSON pointer to the parameters in
// the body. violations must not be empty.
func UnsendableParameters(at string, violations []upstream.Violation) *reason.Refusal {
	list := make([]schema.Violation, 0, len(violations))
	for _, v := range violations {
		list = append(list, schema.Violation{
			Pointer: "/" + strictjson.Escape(v.Parameter), Keyword: "path", Reason: reason.InvalidParameter,
			Message: v.Message,
		})
	}
	slices.SortFunc(list, func(a, b schema.Violation) int { return strings.Compare(a.Pointer, b.Pointer) })
	return InvalidParameters(at, list)
}

// MisplacedParameters refuses parameters that are next to the parameters object instead of inside it. violations must not be empty.
func MisplacedParameters(violations []schema.Violation) *reason.Refusal {
	return invalid(violations).With("suggestion", "Move the members that details.violations names into the parameters object.")
}

// InexactParameter refuses a number that a proof or an idempotency key cannot represent exactly. at is the JSON pointer to the value to
// which the pointer in err is relative.
func InexactParameter(at string, err error) *reason.Refusal {
	v := schema.Violation{
		Keyword: "number", Reason: reason.InvalidParameter,
		Message: "the number has more digits than a proof or an idempotency key can represent exactly: send it as a string",
	}
	if inexact, ok := errors.AsType[*strictjson.InexactError](err); ok {
		v.Pointer = inexact.Pointer
	}
	return InvalidParameters(at, []schema.Violation{v}).Because(err)
}

// Violations returns the violations that a refusal of parameters lists, or nil for any other refusal.
func Violations(f *reason.Refusal) []schema.Violation {
	list, _ := f.Details["violations"].([]schema.Violation)
	return list
}
