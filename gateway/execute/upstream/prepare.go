package upstream

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// A PreparedRequest is one request, complete except for the identity. It may be called more than once. It holds parameter values, so it
// prints as its route's template.
type PreparedRequest struct {
	route  *Route
	target []byte // path and query
	body   []byte
	// contentType is the type of the body if it differs from request to request; empty otherwise.
	contentType string
	// space holds target and body, as far as they fit.
	space [512]byte
}

func (p *PreparedRequest) String() string { return p.route.Template() }

// GoString keeps %#v from printing values.
func (p *PreparedRequest) GoString() string { return p.route.Template() }

// Ready reports, as a *BreakerOpenError, that calls of this intent are refused for now, or those of this agent, whose name is
// Identity.Principal; unapproved is Identity.Unapproved. Call it before reserving anything for a call; Call itself refuses too.
func (p *PreparedRequest) Ready(agent string, unapproved bool) error {
	return p.route.breakerOf(unapproved).ready(agent)
}

// maxTarget bounds the path and query of one request in bytes; common servers take 8 to 16 KiB.
const maxTarget = 16 << 10

// room is where a body is written, behind the address.
func (p *PreparedRequest) room() []byte {
	if used := len(p.target); used <= len(p.space)/2 {
		return p.space[used:used]
	}
	return make([]byte, 0, len(p.space)/2)
}

// A Violation names a parameter whose value cannot be sent, for an INVALID_PARAMETER response. Message never quotes the value.
type Violation struct{ Parameter, Message string }

// Prepare puts parameters (values of package strictjson, defaults filled in) into the request. Numbers are written as they were sent. In
// paths a value must be one plain segment: a string, number or boolean that is not empty, not . or .., and holds no /, \ or control
// character. In queries and forms arrays become repeated members, objects (and arrays in arrays) JSON text, and null is left out; the
// same holds for parts, at most 1000. Path and query together are bounded by 16 KiB. Prepare does no I/O and keeps no reference to
// parameters.
func (r *Route) Prepare(parameters strictjson.Object) (*PreparedRequest, []Violation) {
	p := &PreparedRequest{route: r}
	b := builder{route: r, parameters: parameters, target: p.space[:0]}
	for name := range parameters {
		if _, fixed := r.fixed.Parameters[name]; fixed || !r.declared[name] {
			b.violate(name, "is not a parameter of this intent")
		}
	}
	slices.SortFunc(b.violations, func(a, b Violation) int { return strings.Compare(a.Parameter, b.Parameter) })
	if len(r.fixed.Parameters) > 0 {
		b.parameters = make(strictjson.Object, len(parameters)+len(r.fixed.Parameters))
		maps.Copy(b.parameters, parameters)
		maps.Copy(b.parameters, r.fixed.Parameters)
	}
	b.path()
	b.query()
	p.target = b.target
	if r.hasBody {
		p.body = b.body(p.room())
	}
	if len(p.target) > maxTarget {
		b.violate(b.longest, fmt.Sprintf("makes the address longer than the %d bytes a service can be expected to take", maxTarget))
	}
	if len(b.violations) > 0 {
		return nil, b.violations
	}
	p.contentType = b.contentType
	return p, nil
}

type builder struct {
	route      *Route
	parameters strictjson.Object
	violations []Violation

	target      []byte // as far as it is written
	inQuery     bool   // it has reached the query
	contentType string // of the body, if it depends on the request
	longest     string // the parameter with the longest text in path or query
	most        int
}

// write writes fixed text into the address.
func (b *builder) write(text string) { b.target = append(b.target, text...) }

// escape writes the value of a parameter into the address.
func (b *builder) escape(name, value string) {
	if _, fixed := b.route.fixed.Parameters[name]; !fixed && len(value) > b.most {
		b.longest, b.most = name, len(value)
	}
	b.target = appendEscaped(b.target, value)
}

func (b *builder) violate(name, message string) {
	b.violations = append(b.violations, Violation{name, message})
}

func (b *builder) path() {
	b.write(b.route.upstream.prefix)
	for _, segment := range b.route.path {
		b.write("/")
		for _, p := range segment {
			if p.param == "" {
				b.write(p.text)
				continue
			}
			b.escape(p.param, b.segment(p.param))
		}
	}
}

// segment returns the value of a parameter for the path.
func (b *builder) segment(name string) string {
	value, ok := strictjson.ScalarText(b.parameters[name])
	switch {
	case !ok && b.parameters[name] == nil:
		b.violate(name, "is part of the address and must be given")
	case !ok:
		b.violate(name, "is part of the address: want a string, number or boolean")
	case value == "":
		b.violate(name, "is part of the address and must not be empty")
	case value == "." || value == "..":
		b.violate(name, "is part of the address and must not be . or ..")
	case strings.ContainsAny(value, `/\`) || strings.ContainsFunc(value, unicode.IsControl) || !utf8.ValidString(value):
		b.violate(name, `is part of the address and must not hold /, \ or control characters`)
	}
	return value
}

// and begins another member of the query.
func (b *builder) and() {
	if b.inQuery {
		b.write("&")
		return
	}
	b.write("?")
	b.inQuery = true
}

func (b *builder) query() {
	for _, q := range b.route.query {
		if len(q.value) == 1 && q.value[0].param != "" {
			name := q.value[0].param
			for _, text := range b.texts(name) {
				b.and()
				b.write(q.key)
				b.write("=")
				b.escape(name, text)
			}
			continue
		}
		if !b.fillable(q.value) {
			continue
		}
		b.and()
		b.write(q.key)
		if !q.bare {
			b.write("=")
			b.fill(q.value)
		}
	}
	if b.route.fixedQuery != "" {
		b.and()
		b.write(b.route.fixedQuery)
	}
	if b.route.hasBody {
		return
	}
	for _, name := range b.route.names {
		if b.route.placed[name] {
			continue
		}
		for _, text := range b.texts(name) {
			b.and()
			b.target = appendEscaped(b.target, name)
			b.write("=")
			b.escape(name, text)
		}
	}
}

// fillable reports whether a query value of text and scalars can be built: if one of its parameters is missing, the member is left out.
func (b *builder) fillable(value []piece) bool {
	for _, p := range value {
		if p.param != "" && !b.scalar(p.param) {
			return false
		}
	}
	return true
}

// scalar reports whether a parameter has a value for its place in a text of the query. null counts as missing.
func (b *builder) scalar(name string) bool {
	v := b.parameters[name]
	if v == nil {
		return false
	}
	_, ok := strictjson.ScalarText(v)
	if !ok {
		b.violate(name, "is part of a text in the address: want a string, number or boolean")
	}
	return ok
}

// fill builds a query value that is fillable.
func (b *builder) fill(value []piece) {
	for _, p := range value {
		if p.param == "" {
			b.write(p.text)
			continue
		}
		text, _ := strictjson.ScalarText(b.parameters[p.param])
		b.escape(p.param, text)
	}
}

// body encodes the body; a JSON body goes into space, as far as it fits.
func (b *builder) body(space []byte) []byte {
	if b.route.execute {
		parameters := b.parameters
		if parameters == nil {
			parameters = strictjson.Object{}
		}
		body := map[string]any{"intent_uid": b.route.intent, "parameters": parameters}
		maps.Copy(body, b.route.fixed.Body)
		return b.json(space, "", body)
	}
	switch b.route.body {
	case multipartBody:
		return b.multipart()
	case bytesBody:
		return b.bytes()
	case formBody:
		var s strings.Builder
		for _, name := range b.route.names {
			if b.route.placed[name] {
				continue
			}
			for _, text := range b.texts(name) {
				if s.Len() > 0 {
					s.WriteByte('&')
				}
				s.WriteString(url.QueryEscape(name) + "=" + url.QueryEscape(text))
			}
		}
		if s.Len() > 0 && b.route.fixedForm != "" {
			s.WriteByte('&')
		}
		s.WriteString(b.route.fixedForm)
		return []byte(s.String())
	default:
	}
	if len(b.route.placed) == 0 && b.parameters != nil && len(b.route.fixed.Body) == 0 {
		return b.json(space, "", b.parameters)
	}
	rest := strictjson.Object{}
	for name, v := range b.parameters {
		if !b.route.placed[name] {
			rest[name] = v
		}
	}
	maps.Copy(rest, b.route.fixed.Body)
	return b.json(space, "", rest)
}

// texts returns the values of a parameter in a query or form: no value for null.
func (b *builder) texts(name string) []string {
	v := b.parameters[name]
	if v == nil {
		return nil
	}
	items, ok := v.([]any)
	if !ok {
		return []string{b.text(name, v)}
	}
	var texts []string
	for _, item := range items {
		if item != nil {
			texts = append(texts, b.text(name, item))
		}
	}
	return texts
}

func (b *builder) text(name string, v any) string {
	if s, ok := strictjson.ScalarText(v); ok {
		return s
	}
	return string(b.json(make([]byte, 0, 256), name, v))
}

// json appends the encoding of a value to dst.
func (b *builder) json(dst []byte, name string, v any) []byte {
	out, err := strictjson.Append(dst, v)
	if err != nil {
		b.violate(name, "cannot be written as JSON")
		return nil
	}
	return out
}
