package intents

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/intents/finding"
	"github.com/uimgate/uimgate/intents/schema"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/regex"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	maxName        = 200    // characters of intent_name and other short texts
	maxDescription = 10_000 // characters
	maxURL         = 2048
)

var intentMembers = []string{
	"intent_uid", "intent_name", "description", "input_parameters", "output_parameters", "endpoint", "tags", "category",
	"version", "rate_limit", "price", "retired", "retire_after", "replaced_by", "safe", "stream", "stream_charge", "uid", "name",
}

// A reader reads a part of the document, and collects the problems that it finds.
type reader struct{ finding.List }

// A builder reads one intent.
type builder struct {
	reader

	now time.Time // Options.Now
}

// intent reads one element of intents. raw is the JSON text of the element. The result is never nil, but unusable if b.Unusable is set.
func (b *builder) intent(at string, m strictjson.Object, raw []byte) *Intent {
	i := &Intent{}
	i.UID = b.uid(at, m)
	i.Name = b.canonicalOrDraft(at, m, "intent_name", "name", maxName)
	if i.Name == "" {
		b.Soft("required", at, "intent_name is missing")
		i.Name = i.UID.Name
	}
	if i.Description = b.Text(at, m, "description", maxDescription); i.Description == "" {
		b.Soft("required", at, "description is missing")
	}
	var order map[string][]string
	if m.Object("input_parameters") != nil || m.Object("output_parameters") != nil {
		order = parameterOrder(raw)
	}
	i.Inputs = b.parameters(at+"/input_parameters", m["input_parameters"], order["input_parameters"], true)
	i.Outputs = b.parameters(at+"/output_parameters", m["output_parameters"], order["output_parameters"], false)
	i.declared = declaredMembers(i.Outputs)
	i.places = placesOf(i.Outputs)
	for n := range i.Outputs {
		if i.Outputs[n].Required {
			i.requiredOutputs++
		}
	}
	i.inputs = make(map[string]int, len(i.Inputs))
	for n, p := range i.Inputs {
		i.Inputs[n].at = schema.PathTo(nil, p.Name)
		i.inputs[p.Name] = n
		i.known = append(i.known, p.Name)
	}
	i.Endpoint = b.endpoint(at, m["endpoint"], i)
	i.Tags = b.Texts(at, m, "tags")
	i.Category = b.Text(at, m, "category", maxName)
	i.Version = b.Text(at, m, "version", maxName)
	b.terms(at, m, i)
	i.Safe = i.Endpoint != nil && slices.Contains(reads, i.Endpoint.Method)
	if safe, set := b.Flag(at, m, "safe"); set {
		i.Safe = safe
	}
	b.stream(at, m, i)
	b.retirement(at, m, i)
	i.Timeout = readTimeout(m[memberTimeout])
	b.Unknown(at, m, intentMembers)
	i.raw = withoutSources(raw)
	return i
}

func (b *builder) uid(at string, m strictjson.Object) UID {
	name := "intent_uid"
	if m[name] == nil && m["uid"] != nil {
		name = "uid"
	}
	v := m[name]
	s, ok := v.(string)
	switch {
	case v == nil:
		b.Hard("required", at, "intent_uid is missing")
		return UID{}
	case !ok:
		b.Hard("wrong-type", at+"/"+name, "%s must be a string, not %s", name, finding.Article(strictjson.Kind(v)))
		return UID{}
	}
	uid, err := ParseUID(s)
	if err != nil {
		b.Hard("uid", at+"/"+name, "%s: %v", name, err)
		return UID{}
	}
	if other := m["uid"]; other != nil && name != "uid" && other != v {
		b.Hard("uid", at+"/uid", "uid and intent_uid differ: remove one of them")
	}
	if !uid.Canonical() {
		b.Advise("uid", at+"/"+name, "the name in %s should contain only a-z, 0-9 and hyphens: other programs may reject it", finding.Excerpt(s))
	}
	return uid
}

// canonicalOrDraft reads a member by its canonical name or, if there is none, by its name in the draft's dialect. maxRunes is its maximum
// length in characters.
func (f *reader) canonicalOrDraft(at string, m strictjson.Object, name, draft string, maxRunes int) string {
	if m[name] == nil {
		return f.Text(at, m, draft, maxRunes)
	}
	if other, ok := m[draft]; ok && other != nil && other != m[name] {
		f.Soft("duplicate", at+finding.Pointer(draft), "%s and %s differ: remove one of them", name, draft)
	}
	return f.Text(at, m, name, maxRunes)
}

// terms reads rate_limit and price, which are informative.
func (b *builder) terms(at string, m strictjson.Object, i *Intent) {
	if i.RateLimit = b.Text(at, m, "rate_limit", maxName); i.RateLimit != "" {
		if _, err := limit.ParseRate(i.RateLimit); err != nil {
			b.Advise("rate-limit", at+"/rate_limit", "rate_limit should be a rate such as 1000/hour; it is only shown to agents")
		}
	}
	if i.Price = b.Text(at, m, "price", maxName); i.Price != "" {
		if _, err := money.Parse(i.Price); err != nil {
			b.Advise("price", at+"/price", "price should be an amount such as 0.01 USD; it is only shown to agents")
		}
	}
}

func (b *builder) retirement(at string, m strictjson.Object, i *Intent) {
	i.Retired, _ = b.Flag(at, m, "retired")
	if text := b.Text(at, m, "retire_after", maxName); text != "" {
		end, err := time.Parse(time.RFC3339, text)
		switch {
		case err != nil:
			b.Soft("time", at+"/retire_after", "retire_after must be a time such as 2026-12-01T00:00:00Z (RFC 3339)")
		case !b.now.IsZero() && !b.now.Before(end):
			i.RetireAfter = end
			i.Retired = true
		default:
			i.RetireAfter = end
		}
	}
	next := b.Text(at, m, "replaced_by", maxUID)
	if next == "" {
		return
	}
	uid, err := ParseUID(next)
	switch {
	case err != nil:
		b.Soft("uid", at+"/replaced_by", "replaced_by: %v", err)
	case uid == i.UID:
		b.Soft("uid", at+"/replaced_by", "an intent cannot replace itself")
	default:
		i.ReplacedBy = uid
	}
}

var (
	methods     = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
	reads       = methods[:2] // safe methods (RFC 9110 section 9.2.1)
	withBody    = methods[2:5]
	bodies      = []string{"application/json", "application/x-www-form-urlencoded", "multipart/form-data", wholeBody}
	mediaRange  = regex.Lazy(`^(\*/\*|[a-z0-9!#$&^_.+-]{1,100}/(\*|[a-z0-9!#$&^_.+-]{1,100}))$`)
	placeholder = regex.Lazy(`\{([^{}]*)\}`)
)

const (
	// wholeBody is the content type of a body that is the value of one parameter.
	wholeBody = "application/octet-stream"
	maxAccept = 20 // media types of a response
)

// stream reads whether the response is a stream, and when a call with one is charged.
func (b *builder) stream(at string, m strictjson.Object, i *Intent) {
	i.Stream, _ = b.Flag(at, m, "stream")
	switch charge := b.Text(at, m, "stream_charge", maxName); {
	case charge == "":
	case !i.Stream:
		b.Soft("stream", at+"/stream_charge", "stream_charge has no meaning without stream: true")
	case charge != "first" && charge != "end":
		b.Soft("stream", at+"/stream_charge", "stream_charge must be first or end, not %s", finding.Excerpt(charge))
	default:
		i.StreamChargesFirst = charge == "first"
	}
}

// endpoint reads an endpoint, which is an object or a URL. If it is a URL, calls are POST requests with a JSON body.
func (b *builder) endpoint(at string, v any, i *Intent) *Endpoint {
	at += "/endpoint"
	e := &Endpoint{Method: "POST", ContentType: bodies[0]}
	where := at
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		e.URL = v
	case map[string]any:
		where = at + "/url"
		e.URL = strictjson.Object(v).Text("url")
		if method := b.Text(at, v, "method", maxName); method != "" {
			e.Method = strings.ToUpper(method)
		}
		if body := b.Text(at, v, "content_type", maxName); body != "" {
			e.ContentType = body
		}
		e.Accept = b.accept(at, v)
		b.Unknown(at, v, []string{"url", "method", "content_type", "accept"})
	default:
		b.Hard("endpoint", at,
			"endpoint must be a URL, or an object with url, method, content_type and accept, not %s", finding.Article(strictjson.Kind(v)))
		return nil
	}
	if !slices.Contains(methods, e.Method) {
		b.Hard("endpoint", at+"/method", "method %s is not one of %s", finding.Excerpt(e.Method), strings.Join(methods, ", "))
	}
	if media := e.Media(); !slices.Contains(bodies, media) && (!mediaRange().MatchString(media) || !strings.HasSuffix(media, "+json")) {
		b.Soft("endpoint", at+"/content_type", "content_type %s is not one of %s, and does not end in +json", finding.Excerpt(e.ContentType),
			strings.Join(bodies, ", "))
	}
	if reason := badEndpoint(e.URL); reason != "" {
		b.Hard("endpoint", where, "the endpoint's URL %s", reason)
		return nil
	}
	b.placeholders(where, e, i)
	b.wholeBody(at, e, i)
	return e
}

// accept reads the media types that a response may have, which are separated by commas.
func (b *builder) accept(at string, m strictjson.Object) string {
	var out []string
	for one := range strings.SplitSeq(b.Text(at, m, "accept", maxURL), ",") {
		one = strings.ToLower(strings.TrimSpace(one))
		switch {
		case one == "" || slices.Contains(out, one):
		case !mediaRange().MatchString(one):
			b.Soft("endpoint", at+"/accept", "accept must list media types such as application/pdf or image/*, separated by commas; %s is not a media type",
				finding.Excerpt(one))
		case len(out) == maxAccept:
			b.Soft("too-many", at+"/accept", "accept has more than %d media types", maxAccept)
			return strings.Join(out, ", ")
		default:
			out = append(out, one)
		}
	}
	return strings.Join(out, ", ")
}

// wholeBody checks that, if the body has the type application/octet-stream, exactly one parameter is not a placeholder in the URL.
// That parameter is the body.
func (b *builder) wholeBody(at string, e *Endpoint, i *Intent) {
	if e.Media() != wholeBody || !e.HasBody() {
		return
	}
	var names []string
	for _, p := range i.Inputs {
		if !strings.Contains(e.URL, "{"+p.Name+"}") {
			names = append(names, p.Name)
		}
	}
	if len(names) != 1 {
		b.Soft("endpoint", at+"/content_type", "with %s, one parameter is the whole body and all others must be placeholders in the URL; %d are not",
			wholeBody, len(names))
	}
}

// badEndpoint describes why the URL of an endpoint is invalid. It returns "" if the URL is valid.
func badEndpoint(s string) string {
	if s == "" {
		return "is missing"
	}
	if len(s) > maxURL {
		return fmt.Sprintf("is longer than %d bytes", maxURL)
	}
	plain := placeholder().ReplaceAllString(s, "x")
	if strings.ContainsAny(plain, "{} \\\"<>") || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "contains invalid characters: write placeholders as {name} and spaces as %20"
	}
	u, err := url.Parse(plain)
	switch {
	case err != nil:
		return "is malformed"
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Hostname() == "":
		return "must be absolute, such as https://api.example.com/search"
	case u.User != nil:
		return "must not contain a user name or password, because it is published"
	case strings.Contains(s, "#"):
		return "must not have a fragment"
	}
	start := strings.Index(s, "://") + 3
	end := len(s)
	if i := strings.IndexAny(s[start:], "/?"); i >= 0 {
		end = start + i
	}
	if strings.Contains(s[:end], "{") {
		return "has a placeholder outside its path and query values"
	}
	_, query, _ := strings.Cut(s, "?")
	for pair := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(pair, "="); strings.Contains(name, "{") {
			return "has a placeholder outside its path and query values"
		}
	}
	return ""
}

// placeholders checks that each placeholder names an input. It warns if a placeholder in the path names an input that calls may omit.
func (b *builder) placeholders(at string, e *Endpoint, i *Intent) {
	path, _, _ := strings.Cut(e.URL, "?")
	for _, m := range placeholder().FindAllStringSubmatch(e.URL, -1) {
		p, ok := i.Input(m[1])
		switch {
		case !ok:
			b.Hard("endpoint", at, "the placeholder {%s} does not name an input parameter%s", strings.Trim(finding.Excerpt(m[1]), `"`), finding.Suggestion(m[1], i.known))
		case strings.Contains(path, m[0]) && !p.Required && !p.HasDefault:
			b.Advise("endpoint", at,
				"the path needs {%s}, but the parameter is optional and has no default: calls without the parameter will be refused", p.Name)
		}
	}
}
