package upstream

import (
	"cmp"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/pool"
)

// An Endpoint describes the requests for an intent, as agents.json defines them.
type Endpoint struct {
	IntentUID string
	// URL is the published URL, with {name} placeholders in path segments and query values. If it is empty, the intent has no endpoint, and
	// its calls are posted to Config.Execute. With Config.MCP, its path ends with /tools/ and the name of the tool.
	URL    string
	Method string // GET, HEAD, POST, PUT, PATCH or DELETE; empty: POST
	// ContentType is application/json or a type that ends in +json, application/x-www-form-urlencoded, multipart/form-data, or
	// application/octet-stream. With the last, one parameter is the whole body. Empty: application/json.
	ContentType string
	// Accept lists the media types, or ranges such as image/*, that the response may have, in lowercase. A response that is not JSON becomes
	// an object with the members content, content_type and content_encoding. Empty: JSON only.
	Accept     []string
	Parameters []string        // names of the intent's input parameters
	Parts      map[string]Part // encodings for multipart/form-data and application/octet-stream; a parameter without a Part is encoded as text
	Fixed      FixedValues
	// ErrorWhen describes which 2xx responses are refusals, for services that refuse calls with status 200. Without Equals, a refusal has any
	// value at Pointer except null, false, 0, and an empty string, list or object.
	ErrorWhen config.ErrorWhen
	// Timeout limits one call, including retries. 0 means Config.Timeout.
	Timeout time.Duration
	Stream  Stream
	// Unsafe means that a call changes state although the method is GET or HEAD, or that it calls an MCP tool that changes state. Such a call
	// must not be repeated without an idempotency key.
	Unsafe bool
}

// A Route is an Endpoint that was checked and prepared for calls. It is safe for concurrent use.
type Route struct {
	upstream   *Upstream
	intent     string
	timeout    time.Duration // for one call
	method     string
	template   string // the path with placeholders, for logs
	path       [][]piece
	query      []pair
	names      []string        // all parameters, in the order of the declaration
	declared   map[string]bool // the names of all parameters
	placed     map[string]bool // the parameters with a placeholder in the URL
	tool       string          // the tool that is called, if the service is an MCP server
	stream     Stream
	execute    bool // the body has the UIM core format {"intent_uid","parameters"}
	body       bodyKind
	jsonType   string // content type of jsonBody
	parts      map[string]Part
	content    string   // name of the parameter that is the body, for bytesBody
	accept     []string // Endpoint.Accept
	acceptSent string   // value of the Accept header
	hasBody    bool
	safe       bool
	repeatable bool
	breaker    *breaker // for approved agents
	unapproved *breaker // for all other agents, so that their failures do not affect approved agents

	fixed       FixedValues
	fixedHeader pool.Fields
	fixedQuery  string // escaped
	fixedForm   string
	fixedParts  []textPart
	errorWhen   config.ErrorWhen
	fixedTexts  []string // the strings in the fixed values
	credentials []string // the strings in the fixed values that are credentials

	guard     guard        // finds strings that agents must not see
	concealed atomic.Int64 // how often such a string was found in a response
}

// Errors of Upstream.Route. The errors that wrap them have the details.
var (
	// ErrNoEndpoint means that the intent has no endpoint, and Config.Execute is not set.
	ErrNoEndpoint = errors.New("the intent has no endpoint and upstream.execute is not set")
	// ErrForeignHost means that the endpoint's host is neither in Config.AllowedHosts nor in the namespace of the intent.
	ErrForeignHost = errors.New("the endpoint's host is neither the host of service_url, nor one of hosts, nor in the intent's namespace")
	// ErrEndpoint means that the endpoint is invalid.
	ErrEndpoint = errors.New("the endpoint cannot be called")
)

// Route checks an endpoint and prepares it for calls. The error wraps ErrNoEndpoint, ErrForeignHost or ErrEndpoint.
func (u *Upstream) Route(e Endpoint) (*Route, error) {
	r := &Route{
		upstream: u, intent: e.IntentUID, timeout: cmp.Or(e.Timeout, u.cfg.Timeout), names: slices.Clone(e.Parameters),
		jsonType: applicationJSON, errorWhen: e.ErrorWhen, declared: map[string]bool{}, placed: map[string]bool{},
		parts: e.Parts, accept: e.Accept, acceptSent: acceptHeader(e.Accept), stream: e.Stream,
	}
	if r.stream.On {
		r.acceptSent = streamsSent
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
	if r.upstream.server != nil {
		return r.setTool(e)
	}
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

// Template returns the method and the path with its placeholders. It contains no parameter values, so it can be logged.
func (r *Route) Template() string { return r.method + " " + r.template }

// A Target is the method, the path with its placeholders, the host and the port that a Route calls.
type Target struct{ Method, Template, Host, Port string }

// Target returns the Target of r. Port is empty if the URL of the service has no port.
func (r *Route) Target() Target {
	host, port, err := net.SplitHostPort(r.upstream.host)
	if err != nil {
		host, port = r.upstream.host, ""
	}
	return Target{r.method, r.template, host, port}
}

// breakerOf returns the breaker for approved or unapproved agents.
func (r *Route) breakerOf(stranger bool) *breaker {
	if stranger {
		return r.unapproved
	}
	return r.breaker
}

// Safe reports whether a call has no side effects: Endpoint.Unsafe is not set, and either the service is an MCP server or the method of the
// call is GET or HEAD (RFC 9110, section 9.2.1).
func (r *Route) Safe() bool { return r.safe }

// Method returns the HTTP method.
func (r *Route) Method() string { return r.method }

// PathParameters returns the names of the parameters in the path, in order of appearance. Every call must have values for them, so the
// intent must declare each as required or with a default.
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
		return nil, errors.New("want a path such as /execute, without query, fragment and placeholders")
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

// isVendorJSON reports whether a media type begins with application/ and has the suffix +json (RFC 6839 section 3.1).
func isVendorJSON(media string) bool {
	return strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json") && isHeaderValue(media)
}

// A bodyKind is an encoding of parameters in a body.
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
		return fmt.Errorf("%w: its URL contains a user or password: set credentials in upstream.auth", ErrEndpoint)
	case strings.Contains(e.URL, "#"):
		return fmt.Errorf("%w: its URL has a fragment (#), which is never sent", ErrEndpoint)
	}
	if !r.upstream.allows(parsed.Hostname(), e.IntentUID) {
		return fmt.Errorf("%w: %s", ErrForeignHost, parsed.Hostname())
	}
	rawPath := parsed.RawPath // set only if the escaping differs from Go's
	if rawPath == "" {
		rawPath = parsed.EscapedPath()
	}
	if rawPath == "" {
		rawPath = "/"
	}
	r.template = rawPath
	if len(r.upstream.prefix)+3*(len(rawPath)+len(parsed.RawQuery)) > maxTarget { // escaping may turn each byte into three
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

// allows reports whether an endpoint of an intent may have a host: the host must be one of the configured hosts, the namespace of the
// intent, or a subdomain of that namespace.
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
				return fmt.Errorf("%w: {%s} is not the name of an input parameter", ErrEndpoint, p.param)
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
	for _, q := range r.query { // otherwise an agent could override a value of the endpoint
		if r.declared[q.name] && !r.placed[q.name] {
			return fmt.Errorf("%w: the query already contains %q, and the parameter with that name would be sent in addition; "+
				"write %s={%s}", ErrEndpoint, q.name, q.name, q.name)
		}
	}
	return nil
}
