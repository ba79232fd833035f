// Package oauth is the door through which OAuth clients get tokens for the MCP endpoint of a service. It serves the metadata, the consent
// page, and the endpoints for tokens, client registration and revocation. Package consent makes the decisions; this package parses
// requests and renders responses. MCP 2026-07-28, basic/authorization; OAuth 2.1.
package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/bindings/mcp"
	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/page"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/reason"
)

const maxForm = 64 << 10 // maximum size of a body in bytes

// A Door serves the OAuth paths of each service whose MCP door is open. It is safe for concurrent use.
type Door struct {
	consents  *consent.Service
	documents *fetch.Client
	now       func() time.Time
	pages     door.Cache[*page.Consent]
}

// Name implements door.Module.
func (d *Door) Name() string { return "oauth" }

// Provision implements door.Module.
func (d *Door) Provision(_ context.Context, p door.Process) error {
	d.consents, d.documents, d.now = p.Consents, p.Documents, p.Now
	if d.documents == nil { // for client ID metadata documents
		d.documents = fetch.New(fetch.Options{Timeout: documentTime, UserAgent: "uimgate"})
	}
	return nil
}

// The routes that the door serves.
const (
	resourceRoute  = "/.well-known/oauth-protected-resource"
	serverRoute    = consent.MetadataPath
	authorizeRoute = consent.AuthorizePath
	waitRoute      = "/oauth/wait"
	tokenRoute     = consent.TokenPath
	registerRoute  = "/oauth/register"
	revokeRoute    = "/oauth/revoke"
)

// A handler responds to a request, or returns the error with which the Door responds.
type handler func(*Door, *request) error

// routes has the methods of each route, and the handlers of GET and POST. A route with OPTIONS is for programs and has its errors as JSON;
// the other routes are for people and have them on a page.
var routes = map[string]struct {
	methods   string
	get, post handler
}{
	resourceRoute:  {methods: "GET, HEAD, OPTIONS", get: metadata(resourceMetadata)},
	serverRoute:    {methods: "GET, HEAD, OPTIONS", get: metadata(serverMetadata)},
	authorizeRoute: {methods: "GET, HEAD, POST", get: (*Door).ask, post: (*Door).decide},
	waitRoute:      {methods: "GET", get: (*Door).wait},
	confirmRoute:   {methods: "GET, HEAD, POST", get: (*Door).confirm, post: (*Door).decideCall},
	consentsRoute:  {methods: "GET, HEAD, POST", get: (*Door).own, post: (*Door).decideOwn},
	tokenRoute:     {methods: "POST, OPTIONS", post: (*Door).token},
	registerRoute:  {methods: "POST, OPTIONS", post: (*Door).register},
	revokeRoute:    {methods: "POST, OPTIONS", post: (*Door).revoke},
}

func metadata(of func(*service.Definition) map[string]any) handler {
	return func(_ *Door, q *request) error {
		q.answer(http.StatusOK, of(q.Service.Definition))
		return nil
	}
}

// Route returns the route of a path, or "" if the path belongs to another door or the MCP door is closed. The path of a metadata document
// may end with the path of the endpoint, the path of public_url, or both.
func (d *Door) Route(s *service.Definition, path string) string {
	if !strings.HasPrefix(path, "/oauth/") && !strings.HasPrefix(path, "/.well-known/oauth-") {
		return ""
	}
	endpoint := mcp.SettingsOf(s)
	if endpoint == nil {
		return ""
	}
	if _, served := routes[path]; served {
		return path
	}
	for _, route := range []string{resourceRoute, serverRoute} {
		// The path of the endpoint may follow or, by RFC 8414 3.1, the path of public_url.
		if rest, ok := strings.CutPrefix(path, route); ok && (rest == "" || rest == endpoint.Path ||
			rest == s.PublicURL.Path || rest == strings.TrimRight(s.PublicURL.Path, "/")+endpoint.Path) {
			return route
		}
	}
	return ""
}

// A request is an HTTP request with its response writer.
type request struct {
	*door.Request
	r    *http.Request
	w    http.ResponseWriter
	back page.Link // the link on the error page; zero: none
}

// Serve responds to one request.
func (d *Door) Serve(w http.ResponseWriter, r *http.Request, v *door.Request) {
	q := &request{Request: v, r: r, w: w}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	route := routes[d.Route(v.Service.Definition, r.URL.Path)]
	methods, respond := strings.Split(route.methods, ", "), route.get
	if r.Method == http.MethodPost {
		respond = route.post
	}
	program := slices.Contains(methods, http.MethodOptions)
	if program { // without cookies, web pages of every origin may send requests
		h.Set("Access-Control-Allow-Origin", "*")
	}
	switch {
	case !slices.Contains(methods, r.Method):
		h.Set("Allow", route.methods)
		q.fail(reason.MethodNotAllowed.Refusal(""))
	case r.Method == http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", route.methods)
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, MCP-Protocol-Version")
		h.Set("Access-Control-Max-Age", "3600")
		w.WriteHeader(http.StatusNoContent)
	default:
		if err := respond(d, q); err != nil && program {
			q.fail(err)
		} else if err != nil {
			q.failPage(d.page(v.Service.Definition), err)
		}
	}
}

// page returns the page renderer of a service.
func (d *Door) page(s *service.Definition) *page.Consent {
	p, _ := d.pages.Get(s, nil, func() (*page.Consent, error) { return page.NewConsent(s), nil })
	return p
}

// answer responds with v as JSON.
func (q *request) answer(status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // strings can always be encoded
		status, body = http.StatusInternalServerError, nil
	}
	q.w.Header().Set("Content-Type", "application/json")
	q.w.WriteHeader(status)
	if q.r.Method != http.MethodHead {
		_, _ = q.w.Write(body)
	}
}

// fail responds with an error as JSON. See RFC 6749, section 5.2; RFC 7591, section 3.2.2.
func (q *request) fail(err error) {
	code, description, status := errorCode(err)
	f := consent.RefusalOf(err)
	q.Refusal = f
	if f.RetryAfter > 0 {
		q.w.Header().Set("Retry-After", strconv.FormatInt(f.RetrySeconds(), 10))
	}
	q.answer(status, map[string]string{"error": code, "error_description": description})
}

// errorCode returns the OAuth code, the description and the HTTP status for an error.
func errorCode(err error) (code, description string, status int) {
	if own, ok := errors.AsType[*consent.Error](err); ok {
		status = http.StatusBadRequest
		if own.Code == consent.InvalidClient {
			status = http.StatusUnauthorized
		}
		return string(own.Code), ascii(own.Description), status
	}
	f := consent.RefusalOf(err)
	code, status = "invalid_grant", http.StatusBadRequest
	switch {
	case f.Reason == reason.OriginNotAllowed:
		code, status = string(consent.AccessDenied), f.Status()
	case f.Status() == http.StatusTooManyRequests, f.Status() == http.StatusServiceUnavailable:
		code, status = "temporarily_unavailable", f.Status()
	case f.Status() >= http.StatusInternalServerError:
		code, status = "server_error", f.Status()
	case f.Code == reason.CodeInvalidParameter, f.Reason == reason.MalformedRequest, f.Status() == http.StatusMethodNotAllowed,
		f.Status() == http.StatusRequestEntityTooLarge, f.Status() == http.StatusUnsupportedMediaType:
		code, status = "invalid_request", f.Status()
	}
	return code, ascii(string(f.Reason) + ": " + f.Message + " " + f.Suggestion()), status
}

// ascii replaces the characters that an error_description cannot contain. See RFC 6749, section 5.2.
func ascii(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"' || r == '\\':
			return '\''
		case r < ' ' || r > '~':
			return '?'
		}
		return r
	}, s)
}

// readForm reads the body of a request as a form. Only the parameters with the names in but may be repeated.
func readForm(q *request, but ...string) (url.Values, error) {
	kind, _, err := mime.ParseMediaType(q.r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" || q.r.Header.Get("Content-Encoding") != "" {
		return nil, reason.UnsupportedMediaType.Refusal("The body must be a form: application/x-www-form-urlencoded.")
	}
	body, err := wire.ReadBody(q.r, min(maxForm, q.Service.MaxBody))
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, reason.MalformedRequest.Refusal("The body is not a well-formed form.")
	}
	return form, once(form, but...)
}

// once returns an error if a parameter is repeated, except those with the names in but. See RFC 6749, sections 3.1 and 3.2.
func once(values url.Values, but ...string) error {
	for name, list := range values {
		if len(list) > 1 && !slices.Contains(but, name) {
			return &consent.Error{Code: consent.InvalidRequest, Description: "A parameter occurs more than once."}
		}
	}
	return nil
}
