package intents

import (
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/uimgate/uimgate/internal/nearest"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

var errRemote = errors.New("schemas are never loaded from elsewhere")

const (
	// MaxViolations bounds the violations that one call of Validate returns.
	MaxViolations = 64
	// maxGuesses bounds the searches for nearest names in one call.
	maxGuesses = 8
	// maxNameSent bounds the name of a member that is checked or repeated in an answer, in bytes.
	maxNameSent = 256
)

// Validate checks the parameters of a call, a tree that strictjson made. It returns a new object that includes the
// defaults, or every violation (at most MaxViolations) in the order in which the intent declares its parameters,
// undeclared ones last. The given object is not changed; the returned one shares its values. Numbers are compared
// exactly, at any size.
//
// A parameter whose default is null although its schema does not accept null may be sent as null and counts as absent.
// Defaults inside a parameter's own schema are annotations and are not added.
func (i *Intent) Validate(params strictjson.Object) (strictjson.Object, []Violation) {
	r := report{most: MaxViolations}
	filled := make(strictjson.Object, len(i.Inputs))
	for n := range i.Inputs {
		p := &i.Inputs[n]
		v, sent := params[p.Name]
		if sent && v == nil && p.absent {
			sent = false
		}
		switch {
		case sent:
			before := len(r.violations)
			if checkTree(v, &r, pathTo(nil, p.Name)) {
				p.check.validate(v, pathTo(nil, p.Name), &r)
			}
			if len(r.violations) == before {
				filled[p.Name] = v
			}
		case p.Required:
			r.add(Violation{
				Pointer: pointer(p.Name), Keyword: "required", Reason: reason.MissingParameter,
				Message: "the parameter " + excerpt(p.Name) + " is required",
			})
		case p.HasDefault:
			filled[p.Name] = strictjson.Clone(p.Default)
		}
	}
	if len(params) > 0 {
		i.undeclared(params, &r)
	}
	if len(r.violations) > 0 {
		return nil, r.violations
	}
	return filled, nil
}

// undeclared reports the parameters that the intent does not declare.
func (i *Intent) undeclared(params strictjson.Object, r *report) {
	var names []string
	for name := range params {
		if _, ok := i.inputs[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for n, name := range names {
		if r.full() {
			return
		}
		v := unknownMember("", name, i.known, r)
		if n == 0 {
			v.Known = slices.Clone(i.known)
		}
		r.add(v)
	}
}

func unknownMember(at, name string, known []string, r *report) Violation {
	v := Violation{
		Pointer: at, Keyword: "additionalProperties", Reason: reason.UnknownParameter,
		Message: "a name longer than " + strconv.Itoa(maxNameSent) + " bytes is no parameter",
	}
	if len(name) > maxNameSent {
		return v
	}
	v.Pointer = at + pointer(name)
	v.Message = excerpt(name) + " is no parameter here"
	if r.guesses < maxGuesses {
		r.guesses++
		v.Nearest = nearest.Name(name, known)
	}
	if v.Nearest != "" {
		v.Message += ": did you mean " + excerpt(v.Nearest) + "?"
	}
	return v
}

// A path leads to a value inside the parameters. It is written as text only for a violation.
type path struct {
	up    *path
	name  string
	index int
}

func pathTo(up *path, name string) *path { return &path{up: up, name: name, index: -1} }
func pathAt(up *path, index int) *path   { return &path{up: up, index: index} }
func (p *path) String() string           { return string(p.write(nil)) }
func (p *path) write(b []byte) []byte {
	if p == nil {
		return b
	}
	b = append(p.up.write(b), '/')
	if p.index >= 0 {
		return strconv.AppendInt(b, int64(p.index), 10)
	}
	return append(b, strictjson.Escape(p.name)...)
}

// A report collects violations up to a bound.
type report struct {
	violations []Violation
	most       int
	guesses    int
	walkWork   int // taken from workBudget
	matchWork  int // taken from matchBudget
}

func (r *report) full() bool { return len(r.violations) >= r.most }

func (r *report) add(v Violation) {
	if !r.full() {
		r.violations = append(r.violations, v)
	}
}

// validate checks one value. Violations by the value itself come before those by the values inside.
func (c *check) validate(v any, at *path, r *report) {
	if r.full() || c == nil || c.nullable && v == nil {
		return
	}
	if c.never {
		r.add(Violation{Pointer: at.String(), Keyword: "false", Reason: reason.InvalidParameter, Message: "no value is allowed here"})
		return
	}
	if c.compiled != nil && !c.checkWithLibrary(v, at, r) {
		return
	}
	c.identity.validate(v, c.nullable, at, r)
	switch v := v.(type) {
	case []any:
		if c.items == nil {
			return
		}
		for i, item := range v {
			if r.full() {
				return
			}
			c.items.validate(item, pathAt(at, i), r)
		}
	case map[string]any:
		c.members(v, at, r)
	}
}

// checkWithLibrary checks the value with the library; false means that its content need not be checked.
func (c *check) checkWithLibrary(v any, at *path, r *report) bool {
	if one, ok := c.charge(v, at, r); !ok {
		r.add(one)
		if len(r.violations) < r.most && (r.walkWork >= workBudget || r.matchWork >= matchBudget) {
			r.most = len(r.violations) // nothing more can be checked: one report is enough
		}
		return false
	}
	schema, err := c.compiled.get()
	if err == nil {
		if err = schema.Validate(v); err == nil {
			return true
		}
	}
	failed, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		// The load has not found this fault: deny.
		r.add(Violation{Pointer: at.String(), Keyword: "type", Reason: reason.InvalidParameter, Message: "the value cannot be checked"})
		return false
	}
	e := explanation{doc: c.compiled.doc, value: v, at: at.String(), nullable: c.nullable}
	found := e.violations(failed, r)
	slices.SortStableFunc(found, compareViolations)
	found = slices.CompactFunc(found, func(a, b Violation) bool { return compareViolations(a, b) == 0 })
	wrongType := false
	for _, one := range found {
		wrongType = wrongType || one.Keyword == "type"
		r.add(one)
	}
	return !wrongType && !c.walked
}

func (c *check) members(v map[string]any, at *path, r *report) {
	for _, name := range c.required {
		if _, ok := v[name]; !ok {
			r.add(Violation{
				Pointer: pathTo(at, name).String(), Keyword: "required", Reason: reason.MissingParameter,
				Message: "the member " + excerpt(name) + " is required",
			})
		}
	}
	if c.properties == nil && c.additional == nil && !c.closed {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if r.full() {
			return
		}
		switch sub, ok := c.properties[name]; {
		case ok:
			sub.validate(v[name], pathTo(at, name), r)
		case c.closed:
			one := unknownMember(at.String(), name, c.known, r)
			one.Known = c.known
			r.add(one)
		case c.additional != nil:
			c.additional.validate(v[name], pathTo(at, name), r)
		}
	}
}
