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

// ErrResponse means that the upstream's response does not fit the intent's outputs. Every such error is a *ResponseError.
var ErrResponse = errors.New("the service's answer does not fit the intent's outputs")

// A ResponseError names the output that could not be filled. It never contains values of the response.
type ResponseError struct {
	Output  string // name of the output parameter; empty if the fault is in the response as a whole
	Pointer string // into the upstream's response
	Message string
}

func (e *ResponseError) Error() string {
	if e.Output == "" {
		return ErrResponse.Error() + ": " + e.Message
	}
	return fmt.Sprintf("%v: output %s at %q: %s", ErrResponse, e.Output, e.Pointer, e.Message)
}

// Is makes errors.Is(err, ErrResponse) hold.
func (e *ResponseError) Is(target error) bool { return target == ErrResponse }

// A FitResult is a response that was fitted to the outputs of an intent. Pointers are into the upstream's response.
type FitResult struct {
	Output     any
	Missing    []MissingOutput
	Dropped    []schema.Violation // optional ones that did not fit
	Undeclared UndeclaredMembers
}

// UndeclaredMembers are members of a response that belong to no output: Count of them, and the names of at most MaxUndeclared, in order
// and cut to 128 bytes.
type UndeclaredMembers struct {
	Names []string
	Count int
}

// A MissingOutput is a required output that a response does not have, or that violates its schema.
type MissingOutput struct {
	Name    string `json:"output"`
	Message string `json:"message"` // for people, about the output; never quotes the response
}

// MaxUndeclared bounds the members that UndeclaredMembers names.
const MaxUndeclared = 16

// Fit converts the upstream's answer, a tree that strictjson made, to what the agent gets; the empty answer of a 204
// is an empty object. The rules:
//
//   - without outputs the answer is passed on unchanged;
//   - an output is the value at its From, or the member with its name;
//   - an answer that is not an object is the value of the only output;
//   - strings become numbers or booleans, and these strings, if the output's type requires it and
//     nothing is lost; nothing else is converted;
//   - members that no output names are dropped, and so are optional outputs that are absent or do not
//     fit their schema; a required one that is absent or does not fit is an error, or, if Fit is lenient,
//     left out as well, and among Missing.
//
// The error is a *ResponseError. The body is not changed; the result shares its values.
func (i *Intent) Fit(body any, lenient bool) (FitResult, error) {
	if len(i.Outputs) == 0 {
		return FitResult{Output: body}, nil
	}
	f := FitResult{}
	object, isObject := strictjson.AsObject(body)
	if !isObject && len(i.Outputs) != 1 {
		return FitResult{}, &ResponseError{Message: fmt.Sprintf("%s cannot be shared out among %d outputs",
			finding.Article(strictjson.Kind(body)), len(i.Outputs))}
	}
	shaped := make(map[string]any, len(i.Outputs))
	steps := schema.NewMeter(schema.AnswerSteps)
	for n := range i.Outputs {
		p := &i.Outputs[n]
		v, at, found := p.source(body, isObject)
		if !found {
			if p.Required && !lenient {
				return FitResult{}, &ResponseError{Output: p.Name, Pointer: at, Message: "it is required and absent"}
			}
			if p.Required {
				f.Missing = append(f.Missing, MissingOutput{p.Name, "is absent"})
			}
			continue
		}
		v = p.compiled.Convert(v)
		first := p.compiled.First(v, steps)
		if steps.Exhausted() {
			return FitResult{}, &ResponseError{Output: p.Name, Pointer: at, Message: "it takes too much work to check"}
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

// A place is the position of outputs in a response: an output, or members on the way to some.
type place struct {
	output  *Parameter
	name    []byte // of the output, as JSON, with a colon
	members map[string]*place
}

// places returns the positions of the outputs; nil if two of them share values, or one is inside a list.
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

// declaredMembers are the members of a response that are outputs or contain them; nil if one output is the whole response.
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
