package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/uimgate/uimgate/gateway/execute/internal/grant"
	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/pool"
	"github.com/uimgate/uimgate/gateway/execute/upstream/mcp"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/store"
)

// MCP means that the service is an MCP server. Each intent calls one tool: the path of the intent's endpoint ends with /tools/ and the name
// of the tool.
type MCP struct {
	// Command starts the server as a child process. If its Path is empty, the server is at Config.URL, over Streamable HTTP.
	Command mcp.Command
	// Secrets are values in Command.Env that agents must not see in responses.
	Secrets []string
	// Sessions is the number of sessions that calls share; a Command is started once for each. It is from 1 to mcp.MaxSessions.
	Sessions int
}

// setServer prepares the MCP server, if the service is one.
func (u *Upstream) setServer(m *MCP) error {
	if m == nil {
		return nil
	}
	cfg := mcp.Config{
		Command: m.Command, Sessions: m.Sessions, MaxMessage: u.cfg.MaxResponse, Now: u.cfg.Now, Auth: u.credentialFields,
	}
	if m.Command.Path == "" {
		if cfg.Conns, cfg.Target = u.conns, u.cfg.URL.EscapedPath(); cfg.Target == "" {
			cfg.Target = "/"
		}
	}
	var err error
	if u.server, err = mcp.New(cfg); err != nil {
		return fmt.Errorf("upstream mcp: %w", err)
	}
	u.credentials = append(u.credentials, m.Secrets...)
	return nil
}

// credentialFields returns the header fields that authenticate the gateway.
func (u *Upstream) credentialFields(ctx context.Context) (pool.Fields, error) {
	h := append(pool.Fields{{Name: "User-Agent", Value: "uimgate"}}, u.auth...)
	if u.tokens != nil {
		token, err := u.tokens.get(ctx)
		if err != nil {
			return nil, err
		}
		h.Set(authorization, bearer+token)
	}
	return h, nil
}

// toolsPath precedes the name of the tool in the path of an endpoint.
const toolsPath = "/tools/"

// setTool sets the tool that r calls.
func (r *Route) setTool(e Endpoint) error {
	const form = "whose path ends with /tools/ and the name of a tool, because the service is an MCP server"
	if e.URL == "" {
		return fmt.Errorf("%w: want a URL %s", ErrEndpoint, form)
	}
	parsed, err := url.Parse(e.URL)
	if err != nil {
		return fmt.Errorf("%w: its URL does not parse", ErrEndpoint)
	}
	escaped := parsed.EscapedPath()
	at := strings.LastIndex(escaped, toolsPath)
	switch {
	case !r.upstream.allows(parsed.Hostname(), e.IntentUID):
		return fmt.Errorf("%w: %s", ErrForeignHost, parsed.Hostname())
	case at < 0, parsed.RawQuery != "", parsed.Fragment != "":
		return fmt.Errorf("%w: want a URL %s", ErrEndpoint, form)
	case e.Method != "" && !strings.EqualFold(e.Method, http.MethodPost):
		return fmt.Errorf("%w: the method is %s; tools are called with POST", ErrEndpoint, e.Method)
	}
	if r.tool, err = url.PathUnescape(escaped[at+len(toolsPath):]); err != nil || !mcp.IsToolName(r.tool) {
		return fmt.Errorf("%w: want a URL %s", ErrEndpoint, form)
	}
	if len(e.Fixed.Query) > 0 {
		return fmt.Errorf("%w: a call to a tool has no query for fixed values", ErrEndpoint)
	}
	if r.body, err = bodyOf(e.ContentType); err != nil {
		return err
	}
	if r.body != jsonBody {
		return fmt.Errorf("%w: the arguments of a tool are JSON, not %s", ErrEndpoint, e.ContentType)
	}
	r.method, r.template, r.hasBody = http.MethodPost, toolsPath+r.tool, true
	r.safe = !e.Unsafe
	r.repeatable = r.safe || r.upstream.cfg.IdempotencyHeader != ""
	return nil
}

// callTool makes one attempt to call the tool of a route.
func (u *Upstream) callTool(ctx context.Context, p *PreparedRequest, header pool.Fields, g grant.Grant) result {
	var ended error
	reply, written, err := u.server.Call(ctx, mcp.Call{
		Tool: p.route.tool, Arguments: p.body, Header: header, Meta: u.metaOf(header), Progress: p.reporter(),
	}, func() error { ended = g.Alive(); return ended })
	switch {
	case ended != nil:
		return withoutGrant(ended)
	case err == nil:
		return u.toolResult(ctx, p.route, header, reply)
	case written && (errors.Is(err, mcp.ErrTooLong) || errors.Is(err, mcp.ErrNoMemory)):
		reason := errTooLong
		if errors.Is(err, mcp.ErrNoMemory) {
			reason = errNoMemory
		}
		return result{outcome: store.Done, err: &ResponseError{Status: reply.Status, Reason: reason.Error()}, written: true}
	case !written:
		if refused, ok := errors.AsType[*mcp.StatusError](err); ok {
			return u.notOpened(ctx, p.route, header, refused.Reply)
		}
	}
	return failed(ctx, p.route, written, err)
}

// A Progress is a notification of an MCP server about the progress of a call.
type Progress = mcp.Progress

// Report makes Call pass the notifications of an MCP server about the progress of the call to receive, as they arrive: the first 100, and
// later ones at intervals of at least 100 ms. Call calls receive on its own goroutine. Each attempt of the call has its own notifications.
// Without Report, the gateway does not ask the server for notifications. Services that are not MCP servers send none.
func (p *PreparedRequest) Report(receive func(Progress)) { p.progress = receive }

// reporter returns a function that passes notifications on without the secrets of the operator, or nil if Report was not called.
func (p *PreparedRequest) reporter() func(mcp.Progress) {
	if p.progress == nil {
		return nil
	}
	return func(sent mcp.Progress) {
		sent.Message = p.route.text(sent.Message)
		p.progress(sent)
	}
}

// notOpened returns the result of an attempt for which no session could be opened, because the server responded with a status. No part of
// the call was sent.
func (u *Upstream) notOpened(ctx context.Context, route *Route, header pool.Fields, reply mcp.Reply) result {
	answer := Answer{Status: reply.Status, Header: kept(reply.Header)}
	r := result{outcome: store.NotSent, err: u.classify(ctx, route, answer, nil), again: true}
	if _, rejected := errors.AsType[*RejectedError](r.err); rejected {
		r.err = &StatusError{Status: reply.Status} // the server rejected a request of the gateway, not that of the agent
	}
	if r.refused = reply.Status == http.StatusUnauthorized && u.tokens != nil; r.refused {
		u.tokens.refused(header)
	}
	return r
}

// metaOf returns the members of _meta of a call. They contain the facts about the agent and the call that other services receive as header
// fields.
func (u *Upstream) metaOf(header pool.Fields) pool.Fields {
	var meta pool.Fields
	for _, f := range header {
		switch {
		case strings.HasPrefix(f.Name, "UIM-"), f.Name == u.cfg.IdempotencyHeader:
			meta = append(meta, f)
		case f.Name == "Traceparent":
			meta = append(meta, pool.Field{Name: "traceparent", Value: f.Value})
		}
	}
	return meta
}

// toolResult returns the result of an attempt for which the server sent a complete response. An error of the tool means that the call
// failed. See MCP 2026-07-28, server/tools, Error Handling.
func (u *Upstream) toolResult(ctx context.Context, route *Route, header pool.Fields, reply mcp.Reply) result {
	answer := Answer{Status: reply.Status, Header: kept(reply.Header), ContentType: applicationJSON}
	route.concealHeader(&answer)
	r := result{answer: answer, outcome: store.Failed, written: true}
	switch {
	case reply.Forgotten:
		r.again, r.err = true, &StatusError{Status: reply.Status}
		return r
	case reply.Err != nil && reply.Err.Code == codeInvalidParams:
		r.err = &RejectedError{Code: InvalidParameter, Status: reply.Status, Message: route.text(reply.Err.Message)}
		return r
	case reply.Err != nil && concernsCall(reply.Status):
		r.err = &StatusError{Status: http.StatusBadGateway}
		r.again = route.repeatable && reply.Dropped
		return r
	case reply.Result == nil:
		r.err = u.classify(ctx, route, answer, reply.Body)
		r.refused = reply.Status == http.StatusUnauthorized && u.tokens != nil
		r.again = route.repeatable && (r.refused || reply.Dropped || isTransient(answer, r.err))
		if r.refused {
			u.tokens.refused(header)
		}
		return r
	}
	return u.output(ctx, route, r, reply.Result)
}

// concernsCall reports whether a response with this HTTP status can contain an error of JSON-RPC for the call. Statuses such as 401, 429
// and 503 concern the credential or the state of the server, even if the body contains such an error.
func concernsCall(status int) bool {
	return status <= 299 || status == http.StatusBadRequest || status == http.StatusNotFound
}

// codeInvalidParams is the code of JSON-RPC 2.0 for unacceptable parameters, and the code of MCP for an unknown tool.
const codeInvalidParams = -32602

// output sets the output of an attempt from the result of the tool: its structured content or, if there is none, an object with its
// content.
func (u *Upstream) output(ctx context.Context, route *Route, r result, raw []byte) result {
	share := membudget.Of(ctx)
	if share.Wait(ctx, int64(len(raw))) != nil {
		r.outcome, r.err = store.Done, &ResponseError{Status: r.answer.Status, Reason: errNoMemory.Error()}
		return r
	}
	var structured, content []byte
	kind, isError := "complete", false
	known := strictjson.Members(raw, func(name, value []byte) {
		switch string(name) {
		case "structuredContent":
			structured = value
		case "content":
			content = value
		case "isError":
			isError = string(value) == "true"
		case "resultType":
			kind, _ = strictjson.Text(value)
		}
	})
	switch {
	case !known, kind != "complete": // the server wants something of the client, which has declared no capabilities
		r.err = &StatusError{Status: http.StatusBadGateway}
		return r
	case isError:
		r.err = &RejectedError{Code: InvalidParameter, Status: r.answer.Status, Message: route.text(textOf(content))}
		return r
	case structured != nil && string(structured) != "null":
		r.answer.JSON = append(make([]byte, 0, len(structured)), structured...)
	case content != nil:
		r.answer.JSON = append(append(append(make([]byte, 0, len(content)+12), `{"content":`...), content...), '}')
	default:
		r.answer.JSON = emptyObject
	}
	if r.answer.JSON[0] != '{' { // an output of uim is always an object
		r.answer.JSON = append(append([]byte(`{"result":`), r.answer.JSON...), '}')
	}
	r.outcome = store.Done
	return u.judge(ctx, route, r)
}

// text returns a message of the server for agents, or "" if agents must not see it.
func (r *Route) text(message string) string {
	cleaned := clean(message[:min(len(message), maxRawMessage)])
	if r.holdsSecret(message) || r.holdsSecret(cleaned) {
		r.concealed.Add(1)
		return ""
	}
	return cleaned
}

// textOf returns the text of the blocks of a content, one after the other.
func textOf(content []byte) string {
	tree, err := strictjson.Decode(content)
	if err != nil {
		return ""
	}
	var texts []string
	size := 0
	for _, v := range strictjson.AsList(tree) {
		if block, ok := strictjson.AsObject(v); ok && block.Text("type") == "text" && size < maxRawMessage {
			texts = append(texts, block.Text("text"))
			size += len(block.Text("text"))
		}
	}
	return strings.Join(texts, " ")
}
