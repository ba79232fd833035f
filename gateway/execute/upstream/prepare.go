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

// A Prepared is one request, complete but for who asks. It may be called more than once. It holds
// parameter values, so it prints as its route's template.
type Prepared struct {
	route  *Route
	target string // path and query
	body   []byte
	// contentType is of the body where it differs from one request to the next; else empty.
	contentType string
}

func (p *Prepared) String() string { return p.route.Template() }

// GoString keeps %#v from printing values.
func (p *Prepared) GoString() string { return p.route.Template() }

// Ready reports, as a *BreakerOpenError, that calls of this intent are refused for now, or those of this agent, whose name
// is Identity.Principal. Ask before anything is reserved for a call; Call itself refuses too.
func (p *Prepared) Ready(agent string) error { return p.route.breaker.ready(agent) }

// maxTarget bounds the path and query of one request in bytes; common servers take 8 to 16 KiB.
const maxTarget = 16 << 10

// A Violation names a parameter whose value cannot be sent, for an INVALID_PARAMETER answer. Message never
// quotes the value.
type Violation struct{ Parameter, Message string }

// Prepare puts parameters (values as strictjson made them, defaults filled in) into the request. Numbers are
// written as they were sent. In paths a value must be one plain segment: a string, number or boolean that is
// not empty, not . or .., and holds no /, \ or control character. In queries and forms arrays become repeated
// members, objects (and arrays in arrays) JSON text, and null is left out; so they are in parts, of which there are at most
// 1000. Path and query together are bounded by 16 KiB. No I/O; parameters is not kept.
func (r *Route) Prepare(parameters strictjson.Object) (*Prepared, []Violation) {
	b := builder{route: r, parameters: parameters}
	for name := range parameters {
		if _, fixed := r.fixed.Parameters[name]; fixed || !r.declared[name] {
			b.violate(name, "is no parameter of this intent")
		}
	}
	slices.SortFunc(b.violations, func(a, b Violation) int { return strings.Compare(a.Parameter, b.Parameter) })
	if len(r.fixed.Parameters) > 0 {
		b.parameters = make(strictjson.Object, len(parameters)+len(r.fixed.Parameters))
		maps.Copy(b.parameters, parameters)
		maps.Copy(b.parameters, r.fixed.Parameters)
	}
	path := b.path()
	query := b.query()
	var body []byte
	if r.hasBody {
		body = b.body()
	}
	if len(path)+len(query) > maxTarget {
		b.violate(b.longest, fmt.Sprintf("makes the address longer than the %d bytes a service can be expected to take", maxTarget))
	}
	if len(b.violations) > 0 {
		return nil, b.violations
	}
	target := path
	if query != "" {
		target += "?" + query
	}
	return &Prepared{route: r, target: target, body: body, contentType: b.contentType}, nil
}

type builder struct {
	route      *Route
	parameters strictjson.Object
	violations []Violation

	contentType string // of the body, where it is of this request
	longest     string // the parameter with the longest text in path or query
	most        int
}

// escape writes the value of a parameter into the address.
func (b *builder) escape(s *strings.Builder, name, value string) {
	if _, fixed := b.route.fixed.Parameters[name]; !fixed && len(value) > b.most {
		b.longest, b.most = name, len(value)
	}
	escape(s, value)
}

func (b *builder) violate(name, message string) {
	b.violations = append(b.violations, Violation{name, message})
}

func (b *builder) path() string {
	var s strings.Builder
	s.WriteString(b.route.upstream.prefix)
	for _, segment := range b.route.path {
		s.WriteByte('/')
		for _, p := range segment {
			if p.param == "" {
				s.WriteString(p.text)
				continue
			}
			b.escape(&s, p.param, b.segment(p.param))
		}
	}
	return s.String()
}

// segment returns the value of a parameter that stands in the path.
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

func (b *builder) query() string {
	var s strings.Builder
	and := func() {
		if s.Len() > 0 {
			s.WriteByte('&')
		}
	}
	for _, q := range b.route.query {
		if len(q.value) == 1 && q.value[0].param != "" {
			name := q.value[0].param
			for _, text := range b.texts(name) {
				and()
				s.WriteString(q.key + "=")
				b.escape(&s, name, text)
			}
			continue
		}
		value, ok := b.fill(q.value)
		if !ok {
			continue
		}
		and()
		s.WriteString(q.key)
		if !q.bare {
			s.WriteString("=" + value)
		}
	}
	if b.route.fixedQuery != "" {
		and()
		s.WriteString(b.route.fixedQuery)
	}
	if b.route.hasBody {
		return s.String()
	}
	for _, name := range b.route.names {
		if b.route.placed[name] {
			continue
		}
		for _, text := range b.texts(name) {
			and()
			escape(&s, name)
			s.WriteByte('=')
			b.escape(&s, name, text)
		}
	}
	return s.String()
}

// fill builds a query value of text and scalars; without one of its parameters the member is left out.
func (b *builder) fill(value []piece) (string, bool) {
	var s strings.Builder
	for _, p := range value {
		if p.param == "" {
			s.WriteString(p.text)
			continue
		}
		v := b.parameters[p.param]
		if v == nil {
			return "", false
		}
		text, ok := strictjson.ScalarText(v)
		if !ok {
			b.violate(p.param, "is part of a text in the address: want a string, number or boolean")
			return "", false
		}
		b.escape(&s, p.param, text)
	}
	return s.String(), true
}

func (b *builder) body() []byte {
	if b.route.execute {
		parameters := b.parameters
		if parameters == nil {
			parameters = strictjson.Object{}
		}
		body := map[string]any{"intent_uid": b.route.intent, "parameters": parameters}
		maps.Copy(body, b.route.fixed.Body)
		return b.json("", body)
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
		return b.json("", b.parameters)
	}
	rest := strictjson.Object{}
	for name, v := range b.parameters {
		if !b.route.placed[name] {
			rest[name] = v
		}
	}
	maps.Copy(rest, b.route.fixed.Body)
	return b.json("", rest)
}

// texts are the values under which a parameter stands in a query or form: none for null.
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
	return string(b.json(name, v))
}

func (b *builder) json(name string, v any) []byte {
	out, err := strictjson.Append(make([]byte, 0, 256), v)
	if err != nil {
		b.violate(name, "cannot be written as JSON")
		return nil
	}
	return out
}
