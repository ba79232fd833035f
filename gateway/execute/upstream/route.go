package upstream

import (
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/pool"
)

// An Endpoint is how an intent is called, from agents.json.
type Endpoint struct {
	IntentUID string
	// URL is the published address, with {name} placeholders in path segments and query values. Empty: the
	// intent has no endpoint of its own and is posted to Config.Execute.
	URL    string
	Method string // GET, HEAD, POST, PUT, PATCH or DELETE; empty: POST
	// ContentType is application/json or a type that ends in +json, application/x-www-form-urlencoded, multipart/form-data, or
	// application/octet-stream, where one parameter is the whole body; empty: the first.
	ContentType string
	// Accept are the media types, or ranges such as image/*, that the service's response may have, in lowercase. Responses that are not
	// JSON become an object with content, content_type and content_encoding. None: JSON.
	Accept     []string
	Parameters []string        // names of the intent's input parameters
	Parts      map[string]Part // how the last two content types write them; absent: as text
	Fixed      FixedValues
	ErrorWhen  ErrorWhen
	// Unsafe: calling it changes state although the method is GET or HEAD, so it is not repeated.
	Unsafe bool
}

// A Route is a prepared Endpoint. Only its breakers and counter change; it is safe for concurrent use.
type Route struct {
	upstream   *Upstream
	intent     string
	method     string
	template   string // path only, for logs
	path       [][]piece
	query      []pair
	names      []string        // all parameters, in declared order
	declared   map[string]bool // all parameters
	placed     map[string]bool // parameters with a placeholder
	execute    bool            // the core body {"intent_uid","parameters"}
	body       bodyKind
	jsonType   string // content type of jsonBody
	parts      map[string]Part
	content    string   // of bytesBody: the parameter that is the body
	accept     []string // of Endpoint
	acceptSent string   // Accept
	hasBody    bool
	safe       bool
	repeatable bool
	breaker    *breaker // of approved agents
	unapproved *breaker // of all others: their failures do not affect approved agents

	fixed       FixedValues
	fixedHeader pool.Fields
	fixedQuery  string // escaped
	fixedForm   string
	fixedParts  []textPart
	errorWhen   ErrorWhen
	fixedTexts  []string // the texts among the fixed values, without credentials
	credentials []string // those among the fixed values

	guard     guard        // matches texts that agents must not see
	concealed atomic.Int64 // responses that had one
}

// Errors of Route, which check distinguishes; the surrounding text has the details.
var (
	// ErrNoEndpoint means the intent has no endpoint and the service no execute path.
	ErrNoEndpoint = errors.New("the intent has no endpoint and upstream.execute is not set")
	// ErrForeignHost means the endpoint's host is neither in AllowedHosts nor in the intent's namespace.
	ErrForeignHost = errors.New("the endpoint's host is not service_url, one of hosts, nor in the intent's namespace")
	// ErrEndpoint means the endpoint cannot be called as written.
	ErrEndpoint = errors.New("the endpoint cannot be called")
)

// Route checks an endpoint and prepares it for calls. The error wraps ErrNoEndpoint, ErrForeignHost or
// ErrEndpoint.
func (u *Upstream) Route(e Endpoint) (*Route, error) {
	r := &Route{
		upstream: u, intent: e.IntentUID, names: slices.Clone(e.Parameters),
		jsonType: applicationJSON, errorWhen: e.ErrorWhen, declared: map[string]bool{}, placed: map[string]bool{},
		parts: e.Parts, accept: e.Accept, acceptSent: acceptHeader(e.Accept),
	}
	for _, name := range e.Parameters {
		if r.declared[name] {
			return nil, fmt.Errorf("%w: two parameters are named %q", ErrEndpoint, name)
		}
		r.declared[name] = true
	}
	if err := r.setWay(e); err != nil {
		return nil, err
	}
	if err := r.setFixed(e.Fixed); err != nil {
		return nil, err
	}
	r.guard = u.guardOf(r)
	r.breaker = newBreaker(r.intent, u.failing, u.cfg.Breaker, u.cfg.Now)
	r.unapproved = newBreaker(r.intent, u.failing, u.cfg.Breaker, u.cfg.Now)
	u.routing.Lock()
	defer u.routing.Unlock()
	u.routes = append(u.routes, r)
	return r, nil
}

func (r *Route) setWay(e Endpoint) error {
	if e.URL == "" {
		return r.setExecute()
	}
	if err := r.setMethod(e); err != nil {
		return err
	}
	if err := r.setURL(e); err != nil {
		return err
	}
	return r.checkParts()
}

// Template is the method and the path as the intent has them, without values: fit for logs.
func (r *Route) Template() string { return r.method + " " + r.template }

// A Target is what a Route calls, without parameters.
type Target struct{ Method, Template, Host, Port string }

// Target returns what r calls. Port is empty if it is the default of the scheme.
func (r *Route) Target() Target {
	host, port, err := net.SplitHostPort(r.upstream.host)
	if err != nil {
		host, port = r.upstream.host, ""
	}
	return Target{r.method, r.template, host, port}
}

// breakerOf returns the breaker for the calls of a kind of agents.
func (r *Route) breakerOf(stranger bool) *breaker {
	if stranger {
		return r.unapproved
	}
	return r.breaker
}

// Safe reports whether a call changes nothing: GET and HEAD (RFC 9110 9.2.1), unless Endpoint.Unsafe.
func (r *Route) Safe() bool { return r.safe }

// Method is the HTTP method.
func (r *Route) Method() string { return r.method }

// PathParameters are the parameters without which no address can be built, in order of appearance. One that is neither required nor has a
// default is a mistake in the intent.
func (r *Route) PathParameters() []string {
	var names []string
	for _, segment := range r.path {
		for _, p := range segment {
			if p.param != "" && !slices.Contains(names, p.param) {
				names = append(names, p.param)
			}
		}
	}
	return names
}

func (r *Route) setExecute() error {
	cfg := &r.upstream.cfg
	if cfg.Execute == "" {
		return ErrNoEndpoint
	}
	path, err := executePath(cfg.Execute)
	if err != nil {
		return fmt.Errorf("%w: upstream.execute: %w", ErrEndpoint, err)
	}
	r.method, r.template, r.path = http.MethodPost, cfg.Execute, path
	r.execute, r.hasBody, r.repeatable = true, true, cfg.IdempotencyHeader != ""
	return nil
}

func executePath(path string) ([][]piece, error) {
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#{}") {
		return nil, errors.New("want a path such as /execute, without ?, # and placeholders")
	}
	return parsePath(path)
}

func (r *Route) setMethod(e Endpoint) error {
	r.method = strings.ToUpper(e.Method)
	switch r.method {
	case "":
		r.method, r.hasBody = http.MethodPost, true
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		r.hasBody = true
	case http.MethodGet, http.MethodHead, http.MethodDelete:
	default:
		return fmt.Errorf("%w: the method is %q; use GET, HEAD, POST, PUT, PATCH or DELETE", ErrEndpoint, e.Method)
	}
	r.safe = !e.Unsafe && (r.method == http.MethodGet || r.method == http.MethodHead)
	r.repeatable = r.safe || r.upstream.cfg.IdempotencyHeader != ""
	var err error
	r.body, err = bodyOf(e.ContentType)
	if media, _, err := mime.ParseMediaType(e.ContentType); err == nil && isVendorJSON(media) {
		r.jsonType = media
	}
	return err
}

// isVendorJSON: RFC 6839 section 3.1.
func isVendorJSON(media string) bool {
	return strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json") && isHeaderValue(media)
}

// A bodyKind is how parameters are encoded in a body.
type bodyKind int

const (
	jsonBody bodyKind = iota
	formBody
	multipartBody
	bytesBody
)

func bodyOf(contentType string) (bodyKind, error) {
	if contentType == "" {
		return jsonBody, nil
	}
	media, parameters, err := mime.ParseMediaType(contentType)
	charset := parameters["charset"]
	delete(parameters, "charset")
	if err == nil && len(parameters) == 0 && isVendorJSON(media) {
		return jsonBody, nil
	}
	if err == nil && len(parameters) == 0 && (charset == "" || strings.EqualFold(charset, "utf-8")) {
		switch media {
		case jsonMedia:
			return jsonBody, nil
		case "application/x-www-form-urlencoded":
			return formBody, nil
		case "multipart/form-data":
			return multipartBody, nil
		case bytesMedia:
			return bytesBody, nil
		}
	}
	return jsonBody, fmt.Errorf("%w: the content type is %q; use application/json, "+
		"application/x-www-form-urlencoded, multipart/form-data or %s",
		ErrEndpoint, contentType, bytesMedia)
}

func (r *Route) setURL(e Endpoint) error {
	parsed, err := url.Parse(e.URL)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%w: its URL does not parse: %w", ErrEndpoint, wrapped.Err)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w: its URL does not parse", ErrEndpoint)
	case parsed.Scheme != "http" && parsed.Scheme != "https", parsed.Hostname() == "":
		return fmt.Errorf("%w: want an absolute http:// or https:// URL", ErrEndpoint)
	case parsed.User != nil:
		return fmt.Errorf("%w: its URL holds a user or password; credentials belong under upstream.auth", ErrEndpoint)
	case strings.Contains(e.URL, "#"):
		return fmt.Errorf("%w: its URL has a # part, which is never sent", ErrEndpoint)
	}
	if !r.upstream.allows(parsed.Hostname(), e.IntentUID) {
		return fmt.Errorf("%w: %s", ErrForeignHost, parsed.Hostname())
	}
	rawPath := parsed.RawPath // as written, if it differs from Go's own escaping
	if rawPath == "" {
		rawPath = parsed.EscapedPath()
	}
	if rawPath == "" {
		rawPath = "/"
	}
	r.template = rawPath
	if len(r.upstream.prefix)+3*(len(rawPath)+len(parsed.RawQuery)) > maxTarget { // each byte may become three
		return fmt.Errorf("%w: its URL is too long", ErrEndpoint)
	}
	if r.path, err = parsePath(rawPath); err != nil {
		return fmt.Errorf("%w: %w", ErrEndpoint, err)
	}
	if r.query, err = parseQuery(parsed.RawQuery); err != nil {
		return fmt.Errorf("%w: %w", ErrEndpoint, err)
	}
	return r.checkPlaceholders()
}

// allows: the hosts configured, the intent's namespace, and names below it.
func (u *Upstream) allows(host, intentUID string) bool {
	host = hostname(host)
	namespace, _, _ := strings.Cut(intentUID, ":")
	namespace = hostname(namespace)
	return u.hosts[host] || (namespace != "" && (host == namespace || strings.HasSuffix(host, "."+namespace)))
}

func (r *Route) checkPlaceholders() error {
	note := func(pieces []piece) error {
		for _, p := range pieces {
			if p.param == "" {
				continue
			}
			if !r.declared[p.param] {
				return fmt.Errorf("%w: {%s} names no input parameter", ErrEndpoint, p.param)
			}
			r.placed[p.param] = true
		}
		return nil
	}
	for _, segment := range r.path {
		if err := note(segment); err != nil {
			return err
		}
	}
	for _, q := range r.query {
		if err := note(q.value); err != nil {
			return err
		}
	}
	if r.hasBody {
		return nil
	}
	for _, q := range r.query { // otherwise an agent could set what the operator fixed
		if r.declared[q.name] && !r.placed[q.name] {
			return fmt.Errorf("%w: the query has %q already, so the parameter of that name would be sent beside it; "+
				"write %s={%s}", ErrEndpoint, q.name, q.name, q.name)
		}
	}
	return nil
}
