package openapi

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
	maxHops      = 16   // references that lead to each other
	maxReference = 1000 // bytes
)

// errNowhere means that a reference leads to nothing in a document that was read.
var errNowhere = errors.New("not in the document")

// An outsideError is a reference to another document that cannot be read.
type outsideError struct{ ref, reason string }

func (e *outsideError) Error() string {
	return fmt.Sprintf("it refers to %s, outside the document: %s", excerpt(e.ref), e.reason)
}

// lookup returns what a reference leads to, and a name of that place that is the same for all references to it. The error
// wraps errNowhere, or is an *outsideError, or about the reference itself.
func (d *document) lookup(ref string) (target any, place string, err error) {
	return d.lookupIn(ref, maxHops)
}

func (d *document) lookupIn(ref string, hops int) (target any, place string, err error) {
	name, fragment, _ := strings.Cut(ref, "#")
	tree := any(d.root)
	if name != "" {
		if tree, err = d.files.tree(name, ref); err != nil {
			return nil, "", err
		}
	}
	plain, err := url.PathUnescape(fragment)
	if err != nil || len(ref) > maxReference || plain != "" && plain[0] != '/' {
		return nil, "", fmt.Errorf("the reference %s cannot be followed: only places such as #/components/schemas/Name can", excerpt(ref))
	}
	if target, found := strictjson.Lookup(tree, plain); found {
		return target, name + "#" + plain, nil
	}
	// Something on the way may be a reference itself, such as schemas: {$ref: schemas.yaml}.
	for cut := strings.LastIndexByte(plain, '/'); cut >= 0 && hops > 0; cut = strings.LastIndexByte(plain[:cut], '/') {
		on, _ := strictjson.Lookup(tree, plain[:cut])
		if next, ok := object(on)["$ref"].(string); ok {
			if !strings.Contains(next, "#") {
				next += "#"
			}
			return d.lookupIn(next+(&url.URL{Path: plain[cut:]}).EscapedPath(), hops-1)
		}
	}
	return nil, "", errNowhere
}

// resolve follows v where it is a reference.
func (d *document) resolve(v any, what string) (any, error) {
	ref := ""
	for range maxHops {
		var ok bool
		if ref, ok = object(v)["$ref"].(string); !ok {
			return v, nil
		}
		next, _, err := d.lookup(ref)
		if errors.Is(err, errNowhere) {
			return nil, fmt.Errorf("%s refers to %s, which is %w", what, excerpt(ref), err)
		}
		if err != nil {
			return nil, err
		}
		v = next
	}
	return nil, fmt.Errorf("%s refers to itself, by %s", what, excerpt(ref))
}

// follow resolves a reference in place of anything but a schema: a parameter, body or answer.
func (d *document) follow(v any, what string) (map[string]any, error) {
	v, err := d.resolve(v, what)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is not an object but %s", what, strictjson.Kind(v))
	}
	return m, nil
}

// whole follows v, a path or an operation; members beside the reference take precedence.
func (d *document) whole(v any, what string) (map[string]any, error) {
	target, err := d.follow(v, what)
	if m := object(v); err == nil && m["$ref"] != nil && len(m) > 1 {
		target = maps.Clone(target)
		maps.Copy(target, m)
		delete(target, "$ref")
	}
	return target, err
}

// textAt returns a text that may be in another file. It returns nil if there is none.
func (d *document) textAt(v any) any {
	v, err := d.resolve(v, "a text")
	if err != nil {
		return nil
	}
	return v
}

// schemaName is the last part of a reference or place: Pet, also of schemas/Pet.yaml.
func schemaName(ref string) string {
	name := ref[strings.LastIndexAny(ref, "/#")+1:]
	if name == "" {
		name = path.Base(strings.TrimSuffix(ref, "#"))
	}
	if readable(name) {
		name = strings.TrimSuffix(name, path.Ext(name))
	}
	return name
}
