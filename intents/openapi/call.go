package openapi

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/openapi/curation"
	"github.com/uimgate/uimgate/intents/openapi/read"
)

const (
	maxInputs = 256
	maxURL    = 2048
)

// A call is the state of the conversion of one operation to an intent.
type call struct {
	*work
	op          *operation
	inputs      []input
	names       map[string]bool // the names of inputs
	path        string          // with placeholders
	query       []string        // name={placeholder}
	media       string          // the media type of the body
	accept      string          // media types of the response; empty means JSON
	outputs     []any
	headers     []string // Intent.headers
	idempotency string   // a header that carries an idempotency key
	notes       []string
	reported    map[string]bool
	tree        map[string]any
	decided     curation.Operation
	own         map[string]string // Intent.own
}

// An input is one parameter of the intent.
type input struct {
	name     string
	required bool
	schema   map[string]any
}

func (c *call) report(note string) {
	if !c.reported[note] {
		c.reported[note] = true
		c.notes = append(c.notes, note)
	}
}

// build maps the parameters and the response of the operation, and assembles the intent with this UID.
func (c *call) build(uid intents.UID) error {
	prefix, err := c.server()
	if err != nil {
		return err
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	for _, in := range body {
		c.names[in.name] = true
	}
	if err := c.parameters(prefix); err != nil {
		return err
	}
	c.inputs = append(c.inputs, body...)
	if len(c.inputs) > maxInputs {
		return fmt.Errorf("it takes %d parameters; at most %d are supported", len(c.inputs), maxInputs)
	}
	if err := c.answer(); err != nil {
		return err
	}
	return c.assemble(uid)
}

func (c *call) assemble(uid intents.UID) error {
	rest := c.path
	if len(c.query) > 0 {
		rest += "?" + strings.Join(c.query, "&")
	}
	address := c.base.published(c.options.Namespace) + c.base.prefix + rest
	if len(address) > maxURL {
		return fmt.Errorf("its URL would be longer than %d bytes", maxURL)
	}
	endpoint := map[string]any{"url": address, "method": c.op.method}
	if c.media != "" {
		endpoint["content_type"] = c.media
	}
	if c.accept != "" {
		endpoint["accept"] = c.accept
	}
	c.tree = map[string]any{
		"intent_uid": uid.String(), "intent_name": title(uid.Name), "description": c.description(), "endpoint": endpoint, "version": uid.Version,
	}
	c.own = map[string]string{}
	for member, decided := range map[string]string{"intent_name": c.decided.Name, "description": string(c.decided.Description)} {
		if decided != "" {
			c.own[member], c.tree[member] = read.Text(c.tree[member]), decided
		}
	}
	if byMethod := c.op.method == "GET" || c.op.method == "HEAD"; c.op.effect.reads != byMethod {
		c.tree["safe"] = c.op.effect.reads
	}
	inputs := []any{}
	for _, in := range c.inputs {
		inputs = append(inputs, in.tree())
	}
	c.tree["input_parameters"] = inputs
	if len(c.outputs) > 0 {
		c.tree["output_parameters"] = c.outputs
	}
	var tags []any
	for _, tag := range c.op.tags {
		if t := read.Line(tag, 90); t != "" && len(tags) < 50 && !slices.Contains(tags, any(t)) {
			tags = append(tags, t)
		}
	}
	if len(tags) > 0 {
		c.tree["category"] = tags[0]
	}
	if read.Flag(c.op.tree["deprecated"]) {
		c.report("it is deprecated; it is still offered, with the tag deprecated")
		tags = append(tags, "deprecated")
	}
	if len(tags) > 0 {
		c.tree["tags"] = tags
	}
	return nil
}

// description returns the summary and the description of the operation or, if it has neither, a description derived from its name and path.
func (c *call) description() string {
	summary, more := trimmed(c.TextAt(c.op.tree["summary"]), maxNested), trimmed(c.TextAt(c.op.tree["description"]), maxDescription)
	var out string
	switch {
	case summary == "" && more == "":
		shown := pathParameter().ReplaceAllString(read.Line(c.op.key, 200), "…") // agents do not see fixed parameters
		out = title(operationName(c.op.id, c.op.method, c.op.path)) + " (" + shown + ")"
	case more == "" || strings.HasPrefix(more, strings.TrimSuffix(summary, ".")):
		out = more
		if more == "" {
			out = summary
		}
	case summary == "":
		out = more
	default:
		out = summary
		if !strings.ContainsAny(summary[len(summary)-1:], ".!?") {
			out += "."
		}
		out += "\n\n" + more
	}
	if read.Flag(c.op.tree["deprecated"]) {
		out = "Deprecated. " + out
	}
	return cut(out, maxDescription)
}

// tree returns the parameter in the form of agents.json. The keyword required of a schema becomes a member of constraints, because a
// parameter has a different member with that name.
func (in *input) tree() map[string]any {
	out := maps.Clone(in.schema)
	if out == nil {
		out = map[string]any{}
	}
	if members, ok := out["required"]; ok {
		out["constraints"] = map[string]any{"required": members}
	}
	delete(out, "required")
	out["name"] = in.name
	if value, has := out["default"]; has && value == nil && !isNull(out) {
		delete(out, "default")
	}
	if _, has := out["default"]; in.required && !has { // the gateway fills in a default, so the parameter is not required
		out["required"] = true
	}
	return typed(out, "type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf")
}

// typed returns a parameter with the type any, unless it has one of these keywords.
func typed(out map[string]any, keywords ...string) map[string]any {
	if !slices.ContainsFunc(keywords, func(name string) bool { return out[name] != nil }) {
		out["type"] = "any"
	}
	return out
}

// unique returns a name for an input that no other input has, and reserves it.
func (c *call) unique(name, place string) string {
	out := name
	if c.names[out] {
		out = name + "_in_" + place
	}
	for c.names[out] {
		out += "_"
	}
	c.names[out] = true
	return out
}

const maxParameterName = 100 // bytes; intents allow 128

func nameable(name string) bool {
	return name != "" && len(name) <= maxParameterName && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// placeholder replaces each character of a name that is not valid in a URL placeholder, such as {name}, with an underscore.
func placeholder(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.$", r)) {
			return r
		}
		return '_'
	}, name)
}

// route sets c.path to prefix and the path of the operation. In the path, it replaces each parameter with its text in places. It also adds
// the query string of the path to c.query.
func (c *call) route(prefix string, places map[string]string) error {
	var bad error
	var b strings.Builder
	rest, _, _ := strings.Cut(c.op.path, "#") // some documents use a fragment to distinguish operations on one path
	rest, query, _ := strings.Cut(rest, "?")
	if err := c.fixedQuery(query); err != nil {
		return err
	}
	for rest != "" {
		before, after, open := strings.Cut(rest, "{")
		fixed, err := fixedPath(before)
		if err != nil {
			return err
		}
		b.WriteString(fixed)
		if !open {
			break
		}
		name, more, closed := strings.Cut(after, "}")
		place, known := places[name]
		switch {
		case !closed:
			return errors.New("its path has an unclosed {")
		case !known && bad == nil:
			bad = fmt.Errorf("its path needs %s, which no parameter describes", read.Excerpt(name))
		}
		b.WriteString(place)
		rest = more
	}
	c.path = prefix + b.String()
	return bad
}

// fixedQuery adds the query string, which some documents include in the path, to c.query.
func (c *call) fixedQuery(query string) error {
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, value, valued := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(name)
		_, valueErr := url.QueryUnescape(value)
		if err != nil || valueErr != nil || plain == "" || !valued || strings.ContainsAny(pair, "{};\"\\ <>^`|") ||
			strings.ContainsFunc(pair, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
			return errors.New("its path contains a query string that cannot be sent unchanged")
		}
		if c.names[plain] {
			return fmt.Errorf("its path contains %s, which is also a parameter", read.Excerpt(plain))
		}
		c.query = append(c.query, pair)
	}
	return nil
}

// fixedPath escapes characters that are not valid in a path.
func fixedPath(s string) (string, error) {
	if strings.ContainsAny(s, "?#\\}") {
		return "", errors.New(`its path contains \ or }, which is not supported`)
	}
	plain, err := url.PathUnescape(s)
	if err != nil || strings.ContainsFunc(plain, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", errors.New("its path contains an invalid escape or a control character")
	}
	for segment := range strings.SplitSeq(plain, "/") {
		if segment == "." || segment == ".." {
			return "", errors.New("its path contains a . or .. segment")
		}
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>^`|[]", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}
