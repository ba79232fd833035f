package read

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	// MaxHops is the maximum length of a chain of references.
	MaxHops      = 16
	maxReference = 1000 // bytes
)

// ErrNowhere means that the document to which a reference points was read, but does not contain the target.
var ErrNowhere = errors.New("not in the document")

// An OutsideError means that a reference points to another document that cannot be read.
type OutsideError struct{ ref, reason string }

func (e *OutsideError) Error() string {
	return fmt.Sprintf("it refers to %s, outside the document: %s", Excerpt(e.ref), e.reason)
}

// Lookup returns the target of a reference, and the place of that target: a name that is equal for all references to the same target. The
// error wraps ErrNowhere, is an *OutsideError, or concerns the reference itself.
func (d *Document) Lookup(ref string) (target any, place string, err error) {
	return d.lookupIn(ref, MaxHops)
}

func (d *Document) lookupIn(ref string, hops int) (target any, place string, err error) {
	name, fragment, _ := strings.Cut(ref, "#")
	tree := any(d.Root)
	if name != "" {
		if tree, err = d.files.tree(name, ref); err != nil {
			return nil, "", err
		}
	}
	plain, err := url.PathUnescape(fragment)
	if err != nil || len(ref) > maxReference || plain != "" && plain[0] != '/' {
		return nil, "", fmt.Errorf("the reference %s cannot be followed: its fragment must be a JSON pointer such as #/components/schemas/Name", Excerpt(ref))
	}
	if target, found := strictjson.Lookup(tree, plain); found {
		return target, name + "#" + plain, nil
	}
	// A value on the path to the target may itself be a reference, as in schemas: {$ref: schemas.yaml}.
	for cut := strings.LastIndexByte(plain, '/'); cut >= 0 && hops > 0; cut = strings.LastIndexByte(plain[:cut], '/') {
		on, _ := strictjson.Lookup(tree, plain[:cut])
		if next, ok := Object(on)["$ref"].(string); ok {
			if !strings.Contains(next, "#") {
				next += "#"
			}
			return d.lookupIn(next+(&url.URL{Path: plain[cut:]}).EscapedPath(), hops-1)
		}
	}
	return nil, "", ErrNowhere
}

// Resolve returns the target of v if v is a reference, and otherwise v. what describes v in error messages.
func (d *Document) Resolve(v any, what string) (any, error) {
	ref := ""
	for range MaxHops {
		var ok bool
		if ref, ok = Object(v)["$ref"].(string); !ok {
			return v, nil
		}
		next, _, err := d.Lookup(ref)
		if errors.Is(err, ErrNowhere) {
			return nil, fmt.Errorf("%s refers to %s, which is %w", what, Excerpt(ref), err)
		}
		if err != nil {
			return nil, err
		}
		v = next
	}
	return nil, fmt.Errorf("%s refers to itself through %s", what, Excerpt(ref))
}

// Follow is like Resolve, but returns an error if the result is not an object. Use it for parameters, bodies and responses, but not for
// schemas.
func (d *Document) Follow(v any, what string) (map[string]any, error) {
	v, err := d.Resolve(v, what)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is not an object but %s", what, strictjson.Kind(v))
	}
	return m, nil
}

// Whole is like Follow, but for a path or an operation: members beside the reference are added to those of its target, and take precedence.
func (d *Document) Whole(v any, what string) (map[string]any, error) {
	target, err := d.Follow(v, what)
	if m := Object(v); err == nil && m["$ref"] != nil && len(m) > 1 {
		target = maps.Clone(target)
		maps.Copy(target, m)
		delete(target, "$ref")
	}
	return target, err
}

// TextAt is like Resolve, but returns nil if a reference cannot be followed.
func (d *Document) TextAt(v any) any {
	v, err := d.Resolve(v, "a text")
	if err != nil {
		return nil
	}
	return v
}

// SchemaName returns the name of a schema from a reference or place: Pet for #/components/schemas/Pet and for schemas/Pet.yaml.
func SchemaName(ref string) string {
	name := ref[strings.LastIndexAny(ref, "/#")+1:]
	if name == "" {
		name = path.Base(strings.TrimSuffix(ref, "#"))
	}
	if readable(name) {
		name = strings.TrimSuffix(name, path.Ext(name))
	}
	return name
}
