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

// A PreparedRequest is a request that is complete except for the Identity. It can be passed to Call several times. It contains parameter
// values; String and GoString return only the template of the route.
type PreparedRequest struct {
	route  *Route
	target []byte // path and query
	body   []byte
	// contentType is the media type of the body if it depends on the request; otherwise it is empty.
	contentType string
	receive     func(event []byte) // see Each
	streamed    bool               // receive was called
	progress    func(Progress)     // see Report
	// space is a buffer for target and body.
	space [512]byte
}

func (p *PreparedRequest) String() string { return p.route.Template() }

// GoString prevents %#v from printing values.
func (p *PreparedRequest) GoString() string { return p.route.Template() }

// Ready returns a *BreakerOpenError if a breaker currently refuses calls to this intent, or the calls of this agent. agent is
// Identity.Principal, and unapproved is Identity.Unapproved. Use Ready before reserving anything for a call; Call checks the breakers
// again.
func (p *PreparedRequest) Ready(agent string, unapproved bool) error {
	return p.route.breakerOf(unapproved).ready(agent)
}

// maxTarget is the maximum length of path and query, in bytes. Common servers accept 8 to 16 KiB.
const maxTarget = 16 << 10

// room returns an empty buffer for the body: the rest of space, or new memory if the target uses more than half of space.
func (p *PreparedRequest) room() []byte {
	if used := len(p.target); used <= len(p.space)/2 {
		return p.space[used:used]
	}
	return make([]byte, 0, len(p.space)/2)
}

// A Violation describes a parameter whose value cannot be sent, for an INVALID_PARAMETER response. Message completes a sentence about the
// parameter, and never quotes its value.
type Violation struct{ Parameter, Message string }

// Prepare builds the request from parameters, which are values of package strictjson with defaults filled in. Numbers are encoded exactly
// as they were sent. In a path, a value must be one plain segment: a string, number or boolean that is not empty, not . or .., and
// contains no /, \ or control characters. In a query, a form or a multipart body, an array becomes repeated members, an object or an array
// in an array becomes JSON text, and null is omitted. A multipart body has at most 1000 parts; path and query together have at most 16
// KiB. Prepare does no I/O and keeps no reference to parameters.
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
		b.violate(b.longest, fmt.Sprintf("makes the URL longer than %d bytes, which is more than most servers accept", maxTarget))
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

	target      []byte // the part that is already written
	inQuery     bool   // the query has begun
	contentType string // media type of the body, if it depends on the request
	longest     string // name of the parameter with the longest text in path or query
	most        int    // length of that text
}

// write appends fixed text to the target.
func (b *builder) write(text string) { b.target = append(b.target, text...) }

// escape appends the value of a parameter to the target.
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

// segment returns the value of a parameter for the path, and adds a violation if the value is not a plain segment.
func (b *builder) segment(name string) string {
	value, ok := strictjson.ScalarText(b.parameters[name])
	switch {
	case !ok && b.parameters[name] == nil:
		b.violate(name, "is part of the URL and must not be missing")
	case !ok:
		b.violate(name, "is part of the URL and must be a string, number or boolean")
	case value == "":
		b.violate(name, "is part of the URL and must not be empty")
	case value == "." || value == "..":
		b.violate(name, "is part of the URL and must not be . or ..")
	case strings.ContainsAny(value, `/\`) || strings.ContainsFunc(value, unicode.IsControl) || !utf8.ValidString(value):
		b.violate(name, `is part of the URL and must not contain /, \ or control characters`)
	}
	return value
}

// and appends the ? or & that precedes the next member of the query.
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

// fillable reports whether a query value that consists of fixed text and parameters can be built. If one of the parameters is missing, the
// query omits the member.
func (b *builder) fillable(value []piece) bool {
	for _, p := range value {
		if p.param != "" && !b.scalar(p.param) {
			return false
		}
	}
	return true
}

// scalar reports whether a parameter has a scalar value for its place in a query value. null counts as missing. A value that is not scalar
// is a violation.
func (b *builder) scalar(name string) bool {
	v := b.parameters[name]
	if v == nil {
		return false
	}
	_, ok := strictjson.ScalarText(v)
	if !ok {
		b.violate(name, "is part of a longer value in the URL and must be a string, number or boolean")
	}
	return ok
}

// fill appends a query value to the target. The value must be fillable.
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

// body returns the encoded body. It uses space for a JSON body if the body fits.
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

// texts returns the values of a parameter for a query or form. It omits null.
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

// json appends the JSON encoding of a value to dst.
func (b *builder) json(dst []byte, name string, v any) []byte {
	out, err := strictjson.Append(dst, v)
	if err != nil {
		b.violate(name, "cannot be encoded as JSON")
		return nil
	}
	return out
}
