package intents

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/uimgate/uimgate/intents/finding"
	"github.com/uimgate/uimgate/intents/schema"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// ErrResponse means that the upstream's response does not match the intent's outputs. Every such error is a *ResponseError.
var ErrResponse = errors.New("the service's response does not match the intent's outputs")

// A ResponseError describes why an output is missing or invalid. It never contains values of the response.
type ResponseError struct {
	Output  string // name of the output parameter; empty if the error concerns the response as a whole
	Pointer string // into the upstream's response
	Message string
}

func (e *ResponseError) Error() string {
	if e.Output == "" {
		return ErrResponse.Error() + ": " + e.Message
	}
	return fmt.Sprintf("%v: output %s at %q: %s", ErrResponse, e.Output, e.Pointer, e.Message)
}

// Is reports whether target is ErrResponse.
func (e *ResponseError) Is(target error) bool { return target == ErrResponse }

// A FitResult is the result of Fit. Pointers are into the upstream's response.
type FitResult struct {
	Output     any
	Missing    []MissingOutput    // required outputs that were omitted
	Dropped    []schema.Violation // for each optional output that was omitted because it is invalid, the reason
	Undeclared UndeclaredMembers
}

// UndeclaredMembers describes the top-level members of a response that belong to no output. Count is their number. Names has the sorted
// names of at most MaxUndeclared of them, each truncated to 128 bytes.
type UndeclaredMembers struct {
	Names []string
	Count int
}

// A MissingOutput is a required output that is absent from a response or does not match its schema.
type MissingOutput struct {
	Name    string `json:"output"`
	Message string `json:"message"` // readable text that never quotes the response
}

// MaxUndeclared is the maximum number of names in UndeclaredMembers.
const MaxUndeclared = 16

// Fit converts the upstream's response to the output for the agent. body is a tree of package strictjson; for an empty response (204), it
// is an empty object. The rules are:
//
//   - If the intent declares no outputs, the response is passed on unchanged.
//   - An output is the value at its From, or the member with its name.
//   - If the response is not an object, it is the value of the only output, unless that output has a From.
//   - Strings are converted to numbers or booleans, and numbers and booleans to strings, if the
//     output's type requires it and no information is lost. Other conversions are not made.
//   - Members that do not belong to an output are dropped. So are optional outputs that are absent or
//     do not match their schema.
//   - A required output that is absent or does not match its schema is an error. If lenient is true,
//     it is omitted and added to Missing instead.
//
// The error is a *ResponseError. Fit does not modify body; the result shares values with it.
func (i *Intent) Fit(body any, lenient bool) (FitResult, error) {
	if len(i.Outputs) == 0 {
		return FitResult{Output: body}, nil
	}
	f := FitResult{}
	object, isObject := strictjson.AsObject(body)
	if !isObject && len(i.Outputs) != 1 {
		return FitResult{}, &ResponseError{Message: fmt.Sprintf("%s cannot be divided among %d outputs",
			finding.Article(strictjson.Kind(body)), len(i.Outputs))}
	}
	shaped := make(map[string]any, len(i.Outputs))
	steps := schema.NewMeter(schema.AnswerSteps)
	for n := range i.Outputs {
		p := &i.Outputs[n]
		v, at, found := p.source(body, isObject)
		if !found {
			if p.Required && !lenient {
				return FitResult{}, &ResponseError{Output: p.Name, Pointer: at, Message: "it is required, but absent"}
			}
			if p.Required {
				f.Missing = append(f.Missing, MissingOutput{p.Name, "is absent"})
			}
			continue
		}
		v = p.compiled.Convert(v)
		first := p.compiled.First(v, steps)
		if steps.Exhausted() {
			return FitResult{}, &ResponseError{Output: p.Name, Pointer: at, Message: "it takes too much work to validate"}
		}
		if first == nil {
			shaped[p.Name] = v
			continue
		}
		first.Pointer = at + first.Pointer
		switch {
		case p.Required && lenient:
			f.Missing = append(f.Missing, MissingOutput{p.Name, first.Message})
		case p.Required:
			return FitResult{}, &ResponseError{Output: p.Name, Pointer: first.Pointer, Message: first.Message}
		default:
			f.Dropped = append(f.Dropped, *first)
		}
	}
	f.Output = shaped
	if isObject && i.declared != nil {
		for _, name := range object.Names() {
			if !i.declared[name] {
				note(&f.Undeclared, name)
			}
		}
	}
	return f, nil
}

// A place is a node in the tree of the positions of outputs in a response: an output, or an object with places below it.
type place struct {
	output  *Parameter
	name    []byte // the name of the output as JSON, with a colon
	members map[string]*place
}

// placesOf returns the positions of the outputs. It returns nil if two outputs overlap, or if the pointer to one contains a number, because
// the output may then be inside a list.
func placesOf(outputs []Parameter) *place {
	root := &place{}
	for n := range outputs {
		p := &outputs[n]
		from := finding.Pointer(p.Name)
		if p.HasFrom {
			from = p.From
		}
		at := root
		for token := range strictjson.Tokens(from) {
			if at.output != nil || isIndex(token) {
				return nil
			}
			next := at.members[token]
			if next == nil {
				next = &place{}
				if at.members == nil {
					at.members = map[string]*place{}
				}
				at.members[token] = next
			}
			at = next
		}
		if at.output != nil || at.members != nil {
			return nil
		}
		name, err := json.Marshal(p.Name)
		if err != nil {
			return nil
		}
		at.output, at.name = p, append(name, ':')
	}
	return root
}

func isIndex(token string) bool { return token != "" && strings.Trim(token, "0123456789") == "" }

// declaredMembers returns the top-level members of a response that are outputs or contain outputs. It returns nil if one output is the
// whole response.
func declaredMembers(outputs []Parameter) map[string]bool {
	declared := make(map[string]bool, len(outputs))
	for n := range outputs {
		p := &outputs[n]
		name := p.Name
		if p.HasFrom && p.From == "" {
			return nil
		}
		if p.HasFrom {
			name, _, _ = strings.Cut(strings.TrimPrefix(p.From, "/"), "/")
			name = strictjson.Unescape(name)
		}
		declared[name] = true
	}
	return declared
}

func note[T string | []byte](u *UndeclaredMembers, name T) {
	if u.Count++; u.Count <= MaxUndeclared {
		u.Names = append(u.Names, string(name[:min(len(name), maxParamName)]))
	}
}

func (p *Parameter) source(body any, isObject bool) (v any, at string, found bool) {
	switch {
	case p.HasFrom:
		v, found = strictjson.Lookup(body, p.From)
		return v, p.From, found
	case !isObject:
		return body, "", true
	default:
		at = finding.Pointer(p.Name)
		v, found = strictjson.Lookup(body, at)
		return v, at, found
	}
}
