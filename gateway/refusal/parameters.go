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

// InvalidParameters lists all violations at once; the reason is that of the first. at is the JSON pointer to the parameters in the body;
// the pointers of the refusal begin with it.
func InvalidParameters(at string, violations []schema.Violation) *reason.Refusal {
	violations = slices.Clone(violations)
	for i := range violations {
		violations[i].Pointer = at + violations[i].Pointer
	}
	return invalid(violations)
}

func invalid(violations []schema.Violation) *reason.Refusal {
	f := violations[0].Reason.Refusal("The parameters do not fit the intent.")
	if len(violations) == 1 {
		f.Message = "The parameter at " + violations[0].Pointer + " does not fit the intent: " + violations[0].Message + "."
	}
	return f.With("violations", violations)
}

// UnsendableParameters refuses parameters that no request to the service can carry.
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

// MisplacedParameters refuses parameters that are beside the object they belong into.
func MisplacedParameters(violations []schema.Violation) *reason.Refusal {
	return invalid(violations).With("suggestion", "Move what details.violations names into parameters.")
}

// InexactParameter refuses a number that a signature or a fingerprint cannot represent exactly. at is the base of the error's pointer.
func InexactParameter(at string, err error) *reason.Refusal {
	v := schema.Violation{
		Keyword: "number", Reason: reason.InvalidParameter,
		Message: "the number needs more digits than a proof or an idempotency key can pin down: send it as a string",
	}
	if inexact, ok := errors.AsType[*strictjson.InexactError](err); ok {
		v.Pointer = inexact.Pointer
	}
	return InvalidParameters(at, []schema.Violation{v}).Because(err)
}

// Violations lists the violations of refused parameters; nil for another refusal.
func Violations(f *reason.Refusal) []schema.Violation {
	list, _ := f.Details["violations"].([]schema.Violation)
	return list
}
