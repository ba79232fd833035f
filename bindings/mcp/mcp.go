// Package mcp is the door for the Model Context Protocol: intents are tools. The endpoint of a service supports revision 2026-07-28, in
// which every request is independent, and the earlier revisions with a handshake, up to 2025-11-25. The server has no sessions, because the
// PAT identifies the caller.
package mcp

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/uimgate/uimgate/bindings/mcp/tool"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/intents/toolset"
	"github.com/uimgate/uimgate/internal/connlimit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
)

// Name is the door's name in logs, metrics and audit records.
const Name = "mcp"

// A Door serves the MCP path of each service. It is safe for concurrent use.
type Door struct {
	version   string
	tools     tool.Made
	durations *prometheus.HistogramVec // nil: not recorded
	now       func() time.Time
	notices   connlimit.Places // streams of notices, by PAT
}

// Name implements door.Module.
func (d *Door) Name() string { return Name }

// Blocks implements door.Configurable.
func (d *Door) Blocks() config.Blocks {
	return config.Blocks{Doors: []config.Block{{
		Key: Name, Settings: (*Settings)(nil), Doc: "The Model Context Protocol, for assistants and agent frameworks: intents are tools.",
	}}}
}

// Provision implements door.Module.
func (d *Door) Provision(_ context.Context, p door.Process) error {
	d.version, d.now = cmp.Or(p.Version, "0"), p.Now
	d.notices.Most, d.notices.MostOf = maxNotices, maxNoticesOf
	if p.Metrics != nil {
		d.durations = newDurations(p.Metrics)
	}
	return nil
}

// Route returns "/mcp" for the configured path and "" for any other path.
func (d *Door) Route(s *service.Definition, path string) string {
	if own := SettingsOf(s); own != nil && path == own.Path {
		return "/mcp"
	}
	return ""
}

// A request is one HTTP request and the message in it, as far as they have been read.
type request struct {
	*door.Request
	jsonrpc.Message
	revision revision
	token    string
	choice   toolset.Choice  // which tools are in the list
	held     *reason.Refusal // why requests for more than the public catalogue are refused; nil: they are not
	header   http.Header
}

// Status implements door.Reporter.
func (d *Door) Status(s *service.Service) (door.Status, bool) {
	own := SettingsOf(s.Definition)
	if own == nil {
		return door.Status{}, false
	}
	return door.Status{Door: Name, Addresses: map[string]string{"url": s.At(own.Path)}}, true
}

// Serve responds to one message. See MCP 2026-07-28, basic/transports/streamable-http; 2025-11-25, basic/transports.
func (d *Door) Serve(w http.ResponseWriter, r *http.Request, v *door.Request) {
	var began time.Time
	if d.durations != nil {
		began = d.now()
	}
	h := w.Header()
	h["Cache-Control"] = noStore
	q := &request{Request: v, header: r.Header, revision: revisionOf(r.Header)}
	a := &answer{ResponseWriter: w, request: q, stream: wantsStream(r.Header)}
	if !a.admitted(r) {
		return
	}
	if r.Method == http.MethodGet {
		d.notify(r, a)
		return
	}
	call := v.Call(Name)
	var err error
	if q.token, err = wire.Bearer(r.Header); err == nil {
		call.Token = q.token
		_, err = v.Identify(r, &call)
	}
	var held *reason.Refusal
	if err != nil {
		if held = refusal.For(err); !a.ofAKnownAgent(held) && !q.withoutPAT(held) {
			a.refused(held)
			return
		}
	}
	limit := v.Service.MaxBody
	if q.token == "" {
		limit = min(limit, maxPublicBody)
	}
	data, err := wire.ReadJSON(r, limit)
	if err != nil {
		a.refused(err)
		return
	}
	var wrong *jsonrpc.Error
	if q.Message, wrong = jsonrpc.Read(data); wrong != nil {
		a.failed(http.StatusBadRequest, wrong)
		return
	}
	defer func() { d.observe(a, began) }()
	if wrong := q.settle(); wrong != nil {
		a.failed(http.StatusBadRequest, wrong)
		return
	}
	q.held = held
	if q.choice, wrong = choiceOf(r.URL); wrong != nil {
		a.failed(http.StatusBadRequest, wrong)
		return
	}
	switch {
	case held == nil, a.public():
	case q.withoutPAT(held):
		a.refused(held)
		return
	case q.Method == "tools/call":
		a.toolFailed(held)
		return
	}
	d.dispatch(r, a, call)
}

// ofAKnownAgent reports whether a refusal concerns an agent with a valid PAT, for example a blocked agent. Such a refusal is sent in the
// result of a call, because clients that get 403 without a challenge consider the whole server unusable.
func (a *answer) ofAKnownAgent(f *reason.Refusal) bool {
	return f.Status() == http.StatusForbidden && !door.Challenged(f)
}

// maxPublicBody is the maximum size of a request without a PAT, in bytes.
const maxPublicBody = 64 << 10

// withoutPAT reports whether a request is refused because it has no PAT, although the service permits requests without one.
func (q *request) withoutPAT(f *reason.Refusal) bool {
	return q.token == "" && f.Reason == reason.MissingToken && SettingsOf(q.Service.Definition).PublicList
}

// public reports whether a request needs no PAT, because it reads only what agents.json contains.
func (a *answer) public() bool {
	name, _ := a.Params["name"].(string)
	return a.Method != "tools/call" && !methods[a.Method].task || name == toolset.Search || name == toolset.Describe
}

// A method is how the door responds to a method of the protocol.
type method struct {
	respond   func(d *Door, r *http.Request, a *answer, call execute.Call)
	named     string // the member of params that the header Mcp-Name repeats
	handshake bool   // only revisions with a handshake have it
	task      bool   // it is for tasks, which only revisions without a handshake have
}

var methods = map[string]method{
	"tools/call":               {respond: (*Door).call, named: "name"},
	"tools/list":               {respond: (*Door).list},
	"server/discover":          {respond: (*Door).discover},
	"initialize":               {respond: (*Door).initialize, handshake: true},
	"ping":                     {respond: of(func(a *answer) { a.result([]byte("{}")) }), handshake: true},
	"resources/list":           {respond: of(func(a *answer) { a.resources("resources", "uri", documents) })},
	"resources/templates/list": {respond: of(func(a *answer) { a.resources("resourceTemplates", "uriTemplate", templates) })},
	"resources/read":           {respond: (*Door).read, named: "uri"},
	"prompts/list":             {respond: of((*answer).prompts)},
	"prompts/get":              {respond: of((*answer).prompt), named: "name"},
	"completion/complete":      {respond: of((*answer).completion)},
	"tasks/get":                {respond: (*Door).tasks, named: "taskId", task: true},
	"tasks/update":             {respond: (*Door).tasks, named: "taskId", task: true},
	"tasks/cancel":             {respond: (*Door).tasks, named: "taskId", task: true},
}

// of returns a respond that needs only the message.
func of(respond func(*answer)) func(*Door, *http.Request, *answer, execute.Call) {
	return func(_ *Door, _ *http.Request, a *answer, _ execute.Call) { respond(a) }
}

// dispatch responds to a well-formed message.
func (d *Door) dispatch(r *http.Request, a *answer, call execute.Call) {
	if a.Answer || a.IsNotification() { // the door does not use responses and notifications
		a.WriteHeader(http.StatusAccepted)
		return
	}
	m, known := methods[a.Method]
	if known && (a.revision.alone && !m.handshake || !a.revision.alone && !m.task) {
		m.respond(d, r, a, call)
		return
	}
	status := http.StatusNotFound
	if !a.revision.alone { // clients of these revisions expect errors with status 200
		status = http.StatusOK
	}
	a.failed(status, &jsonrpc.Error{Code: jsonrpc.MethodNotFound, Message: "The method is unknown."})
}

var noStore = []string{"no-store"}

// admitted reports whether a request can contain a message, and sets the CORS headers. If it returns false, it has responded.
func (a *answer) admitted(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	allowed := a.allows(origin)
	if allowed && origin != "" {
		a.Header().Set("Access-Control-Allow-Origin", origin)
		a.Header().Add("Vary", "Origin")
		a.Header().Set("Access-Control-Expose-Headers", "WWW-Authenticate, UIM-Request-ID, Mcp-Session-Id")
	}
	switch {
	case !allowed:
		a.refused(reason.OriginNotAllowed.Refusal(""))
	case r.Method == http.MethodOptions:
		a.Header().Set("Access-Control-Allow-Methods", "POST")
		a.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name, "+
			"Mcp-Session-Id, Last-Event-ID, Idempotency-Key, UIM-Proof, UIM-Request-ID")
		a.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet && a.wantsNotices():
		return true
	case r.Method != http.MethodPost:
		a.Header().Set("Allow", "POST, OPTIONS")
		a.refused(reason.MethodNotAllowed.Refusal("Messages must be sent with POST. The endpoint has no separate stream and no sessions."))
	case !a.stream && !takesJSON(r.Header):
		a.failed(http.StatusNotAcceptable, &jsonrpc.Error{
			Code: jsonrpc.InvalidRequest, Message: "The Accept header must contain application/json and text/event-stream.",
		})
	default:
		return true
	}
	return false
}

// allows reports whether web pages of an origin may use the endpoint. A request without an origin is allowed.
func (a *answer) allows(origin string) bool {
	s := a.Service.Definition
	return origin == "" || slices.Contains(SettingsOf(s).Origins, origin) || slices.Contains(s.Origins(), strings.ToLower(origin))
}

// takesJSON reports whether a client accepts JSON.
func takesJSON(h http.Header) bool {
	accept := h.Values("Accept")
	return len(accept) == 0 || accepts(accept, "application/json") || accepts(accept, "application/*") || accepts(accept, "*/*")
}

// wantsStream reports whether a client accepts only streams.
func wantsStream(h http.Header) bool {
	return !takesJSON(h) && accepts(h.Values("Accept"), "text/event-stream")
}

func accepts(fields []string, kind string) bool {
	for _, field := range fields {
		for part := range strings.SplitSeq(field, ",") {
			part, _, _ = strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(part), kind) {
				return true
			}
		}
	}
	return false
}
