package pat

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/uimgate/uimgate/pat/keys"
)

// Declaration is what an agent declares under its signature when it agrees, such as its purpose: name to values. It is a member of a
// fresh agreement's payload, and a claim of every PAT issued under that agreement. So a decision of the policy that depends on it is
// valid for each call and can be proved later.
type Declaration map[string][]string

// The bounds of a Declaration, all of which goes into each PAT.
const (
	maxDeclared       = 16  // names
	maxDeclaredValues = 16  // of one name
	maxDeclaredValue  = 200 // bytes of one value
	maxDeclaredText   = 2 << 10
)

var declaredName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// Check returns an error for the first fault of d, or nil. It accepts at most 16 names of letters, digits and _ . -, each with 1 to 16
// texts of at most 200 bytes, 2 KiB in total.
func (d Declaration) Check() error {
	if len(d) > maxDeclared {
		return fmt.Errorf("has %d names: at most %d", len(d), maxDeclared)
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(d)) {
		if !declaredName.MatchString(name) {
			return errors.New("has a name that is not of letters, digits and _ . -, at most 64")
		}
		if n := len(d[name]); n == 0 || n > maxDeclaredValues {
			return fmt.Errorf("%s has %d values: want 1 to %d", name, n, maxDeclaredValues)
		}
		for _, v := range d[name] {
			if v == "" || len(v) > maxDeclaredValue || !utf8.ValidString(v) || containsUnprintable(v) {
				return fmt.Errorf("%s has a value that is not a text of 1 to %d bytes", name, maxDeclaredValue)
			}
			size += len(v)
		}
		size += len(name)
	}
	if size > maxDeclaredText {
		return fmt.Errorf("has %d bytes: at most %d", size, maxDeclaredText)
	}
	return nil
}

func containsUnprintable(s string) bool {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return true
		}
	}
	return false
}

// readDeclared reads the member or claim: an object whose members are a text or a list of texts. A missing one is nil.
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
			return nil, errors.New("want texts or lists of texts")
		}
		d[name] = list
	}
	if err := d.Check(); err != nil {
		return nil, err
	}
	return d, nil
}

// Declared returns what the agent declared when it agreed. It is read from the signed payload, so the record has no field for it.
func (a Agreement) Declared() Declaration {
	if a.Form != formJWSAgreement {
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
