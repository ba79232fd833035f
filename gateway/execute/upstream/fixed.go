package upstream

import (
	"errors"
	"fmt"
	"maps"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// FixedValues are values of the configuration that every request of a route contains. Agents can neither see nor set them. String and
// GoString do not reveal them. Values have the types of package strictjson.
type FixedValues struct {
	Parameters strictjson.Object // values for some of Endpoint.Parameters, which agents then cannot set
	Header     map[string]string
	Query      map[string]any    // scalars or lists of scalars
	Body       strictjson.Object // members of the body, in addition to parameters; for a form, values are as in Query
	// Credentials are those values, among the ones above, that authenticate the gateway to the service.
	Credentials []any
}

func (f FixedValues) String() string {
	return hidden(strings.Repeat("x", len(f.Parameters)+len(f.Header)+len(f.Query)+len(f.Body)))
}

// GoString prevents %#v from printing values.
func (f FixedValues) GoString() string { return f.String() }

// setFixed checks and prepares fixed values. An error names the place of a value, but never contains the value.
func (r *Route) setFixed(f FixedValues) error {
	r.fixed = f
	b := builder{route: r, parameters: f.Parameters}
	for _, segment := range r.path {
		for _, p := range segment {
			if _, ok := f.Parameters[p.param]; ok {
				b.segment(p.param)
			}
		}
	}
	for _, q := range r.query {
		for _, p := range q.value {
			if _, ok := f.Parameters[p.param]; ok && len(q.value) > 1 {
				b.scalar(p.param)
			}
		}
	}
	if len(b.violations) > 0 {
		return fmt.Errorf("%w: the fixed value of %s %s", ErrEndpoint, b.violations[0].Parameter, b.violations[0].Message)
	}
	if err := r.setFixedHeader(f.Header); err != nil {
		return err
	}
	r.fixedQuery = b.members(f.Query)
	switch r.body {
	case formBody:
		r.fixedForm = b.members(f.Body)
	case multipartBody:
		r.fixedParts = b.textParts(f.Body)
	default:
	}
	b.fixedFiles()
	switch {
	case len(f.Body) > 0 && r.body == bytesBody:
		return fmt.Errorf("%w: its body is a single value and cannot contain fixed values", ErrEndpoint)
	case len(f.Body) > 0 && !r.hasBody:
		return fmt.Errorf("%w: a %s request has no body for fixed values", ErrEndpoint, r.method)
	case len(b.violations) > 0:
		return fmt.Errorf("%w: the fixed value of %s %s", ErrEndpoint, b.violations[0].Parameter, b.violations[0].Message)
	case len(r.fixedQuery) > maxTarget/4:
		return fmt.Errorf("%w: the fixed values of its query are longer than %d bytes", ErrEndpoint, maxTarget/4)
	}
	for _, values := range []map[string]any{f.Parameters, f.Query, f.Body} {
		for _, v := range values {
			r.fixedTexts = secretTexts(r.fixedTexts, v)
		}
	}
	for _, v := range f.Header {
		r.fixedTexts = append(r.fixedTexts, headerSecrets(v)...)
	}
	for _, v := range f.Credentials {
		r.credentials = secretTexts(r.credentials, v)
	}
	return nil
}

// members returns values encoded as members of a query or form, in the order of their names.
func (b *builder) members(values map[string]any) string {
	var s []string
	for _, m := range b.textParts(values) {
		s = append(s, url.QueryEscape(m.name)+"="+url.QueryEscape(m.text))
	}
	return strings.Join(s, "&")
}

// A textPart is a member of a form.
type textPart struct{ name, text string }

func (b *builder) textParts(values map[string]any) []textPart {
	all := *b
	all.parameters = values
	var out []textPart
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, text := range all.texts(name) {
			out = append(out, textPart{name, text})
		}
	}
	b.violations = all.violations
	return out
}

// fixedFiles adds violations for fixed files that cannot be sent.
func (b *builder) fixedFiles() {
	for _, name := range slices.Sorted(maps.Keys(b.parameters)) {
		if b.route.parts[name].Base64 && (b.route.body == multipartBody || b.route.body == bytesBody) {
			for _, v := range items(b.parameters[name]) {
				b.part(name, v)
			}
		}
	}
}

// fixable are the headers of this package that the configuration may replace.
var fixable = map[string]bool{"accept": true, "user-agent": true}

func (r *Route) setFixedHeader(header map[string]string) error {
	for name, value := range header {
		switch {
		case !usable(name) && !fixable[strings.ToLower(name)], strings.EqualFold(name, r.upstream.cfg.IdempotencyHeader):
			return fmt.Errorf("%w: the header %q cannot be fixed, because the gateway sets it itself", ErrEndpoint, name)
		case r.upstream.isCredential(name):
			return fmt.Errorf("%w: the header %q is already set by upstream.auth", ErrEndpoint, name)
		case value == "" || !isHeaderValue(value):
			return fmt.Errorf("%w: the fixed value of the header %q is empty or contains control characters", ErrEndpoint, name)
		}
		r.fixedHeader.Set(textproto.CanonicalMIMEHeaderKey(name), value)
	}
	return nil
}

// errPointer means that two values have the same place in a body, or that one value would be inside another that is not an object.
var errPointer = errors.New("another fixed value already has this place")

// Put sets the member at a JSON pointer in tree, and creates the missing objects on the path to that member. It returns an error if the
// member already exists or a value on the path is not an object.
func Put(tree strictjson.Object, pointer string, value any) error {
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, token := range tokens {
		name := strictjson.Unescape(token)
		there, taken := tree[name]
		switch last := i == len(tokens)-1; {
		case last && taken:
			return errPointer
		case last:
			tree[name] = value
		case !taken:
			next := map[string]any{}
			tree[name], tree = next, next
		default:
			next, ok := there.(map[string]any)
			if !ok {
				return errPointer
			}
			tree = next
		}
	}
	return nil
}
