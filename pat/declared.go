package pat

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/uimgate/uimgate/pat/keys"
)

// A Declaration holds statements of an agent about itself, such as its purpose, which the agent signs when it agrees. It maps names to
// values. It is a member of the payload of a fresh agreement, and a claim of every PAT issued under that agreement. The policy can
// therefore use it to decide every call, and the decision can be proved later.
type Declaration map[string][]string

// The bounds of a Declaration. Every PAT contains the whole Declaration.
const (
	maxDeclared       = 16  // names
	maxDeclaredValues = 16  // values of one name
	maxDeclaredValue  = 200 // bytes of one value
	maxDeclaredText   = 2 << 10
)

var declaredName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// Check returns an error for the first problem of d, or nil. It accepts at most 16 names of up to 64 letters, digits, _ . and -, each with
// 1 to 16 printable strings of 1 to 200 bytes, and 2 KiB in total. The error reads as a predicate of the declaration, such as "has 17
// names".
func (d Declaration) Check() error {
	if len(d) > maxDeclared {
		return fmt.Errorf("has %d names; the maximum is %d", len(d), maxDeclared)
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(d)) {
		if !declaredName.MatchString(name) {
			return errors.New("has an invalid name: want a letter, then up to 63 letters, digits, _ . or -")
		}
		if n := len(d[name]); n == 0 || n > maxDeclaredValues {
			return fmt.Errorf("has the name %s with %d values: want 1 to %d", name, n, maxDeclaredValues)
		}
		for _, v := range d[name] {
			if v == "" || len(v) > maxDeclaredValue || !utf8.ValidString(v) || containsUnprintable(v) {
				return fmt.Errorf("has a value of %s that is not printable text of 1 to %d bytes", name, maxDeclaredValue)
			}
			size += len(v)
		}
		size += len(name)
	}
	if size > maxDeclaredText {
		return fmt.Errorf("has %d bytes; the maximum is %d", size, maxDeclaredText)
	}
	return nil
}

func containsUnprintable(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// readDeclared reads the member or claim declared: an object whose members are strings or lists of strings. If present is false, it returns
// nil.
func readDeclared(v any, present bool) (Declaration, error) {
	if !present {
		return nil, nil //nolint:nilnil // nothing was declared
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("want an object")
	}
	d := make(Declaration, len(tree))
	for name, value := range tree {
		if text, ok := value.(string); ok {
			d[name] = []string{text}
			continue
		}
		list, err := stringList(value)
		if err != nil {
			return nil, errors.New("want strings or lists of strings")
		}
		d[name] = list
	}
	if err := d.Check(); err != nil {
		return nil, err
	}
	return d, nil
}

// PlanName is the name in a Declaration with which an agent chooses a plan of the policy.
const PlanName = "plan"

// Plan returns the plan that d chooses, or the empty string if d chooses none, or several.
func (d Declaration) Plan() string {
	if list := d[PlanName]; len(list) == 1 {
		return list[0]
	}
	return ""
}

// Declared returns the agent's declaration in its agreement, or the plan that a person chose for a client. It reads the signed evidence,
// because the record has no field for it. The result is nil if nothing is declared.
func (a Agreement) Declared() Declaration {
	if record, ok := a.Consent(); ok && record.Plan != "" {
		return Declaration{PlanName: {record.Plan}}
	}
	if a.Form != formJWSAgreement {
		if a.Plan != "" { // another form has no other declaration
			return Declaration{PlanName: {a.Plan}}
		}
		return nil
	}
	j, err := keys.ParseJWS(string(a.Signature), maxSigned)
	if err != nil {
		return nil
	}
	c, err := readAgreement(j.Payload)
	if err != nil {
		return nil
	}
	return c.Declared
}
