package intents

import (
	"encoding/json"
	"math/bits"
	"strconv"

	"github.com/uimgate/uimgate/internal/reason"
)

const (
	// CallSteps bounds the work of checking the parameters of one call, for any schema and any values. A step takes about
	// 10 ns of one processor. Steps are counted and never measured, so that the load of the machine decides nothing.
	CallSteps = 1_500_000
	// answerSteps is the same bound for the answer of the web service, which may be longer and is not the agent's.
	answerSteps = 32 * CallSteps
)

// The steps of what checking is made of, as measured.
const (
	stepsOfCheck    = 4  // applying a schema to a value
	stepsOfInside   = 15 // going into a list or an object, or asking apart from the report
	stepsOfLookup   = 6  // a member by its name
	stepsOfIdentity = 9  // the text of a value
	stepsOfUnique   = 22 // remembering an item
	stepsOfSeen     = 30 // remembering what was looked at
	stepsOfFault    = 30
)

// stepsOfRational returns the steps of comparing fractions of so many decimal digits, or of dividing one by the other.
func stepsOfRational(digits int) int { return 80 + digits*digits/40 }

// A formatCost is what it takes to recognise a format: steps for each value and for each byte of it.
type formatCost struct{ value, perByte int }

func costOfFormat(name string) formatCost {
	switch name {
	case "regex":
		return formatCost{100, 700}
	case "uri-template":
		return formatCost{50, 20}
	case "byte", "binary", "password", "float", "double":
		return formatCost{20, 1}
	default:
		return formatCost{50, 4}
	}
}

func (f formatCost) of(v any) int {
	switch v := v.(type) {
	case string:
		return f.value + f.perByte*len(v)
	case json.Number:
		return stepsOfRational(magnitude(string(v)))
	default:
		return 1
	}
}

// A meter counts the steps that are left. Once it is used up, nothing is judged any more.
type meter struct{ left int }

// take reports whether n more steps may be made.
func (m *meter) take(n int) bool {
	if m.left < n {
		m.left = -1
		return false
	}
	m.left -= n
	return true
}

func (m *meter) exhausted() bool { return m.left < 0 }

// takeText takes n steps and those of reading a text.
func (m *meter) takeText(n int, s string) bool { return m.take(n + len(s)/4) }

// sorting returns the steps of sorting n names.
func sorting(n int) int { return 10 + n*(8+2*bits.Len(uint(n))) }

// tooMuch is the violation by a parameter at which the steps ended.
func tooMuch(at string) Violation {
	return Violation{
		Pointer: at, Keyword: "work", Reason: reason.ParameterTooLong,
		Message: "takes more than the " + strconv.Itoa(CallSteps) + " steps of work that checking one call may take: " +
			"send fewer or shorter values in one call",
	}
}
