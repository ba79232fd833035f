package mcp

import (
	"context"
	"errors"
	"net/http"

	"go.opentelemetry.io/otel/attribute"

	"github.com/uimgate/uimgate/bindings/mcp/tool"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/intents/toolset"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/suggest"
	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
	"github.com/uimgate/uimgate/payments/x402"
)

// The headers whose values a client can also send as members of _meta with the same names.
const (
	idempotencyKey = "Idempotency-Key"
	proof          = "UIM-Proof"
	requestID      = "UIM-Request-ID"
)

// call responds to tools/call. See MCP 2026-07-28, server/tools, Calling Tools.
func (d *Door) call(r *http.Request, a *answer, call execute.Call) {
	name, isText := a.Params["name"].(string)
	if !isText {
		a.failed(http.StatusOK, invalidParams("The member params.name must be the name of a tool."))
		return
	}
	arguments, isObject := strictjson.AsObject(a.Params["arguments"])
	if !isObject && a.Params["arguments"] != nil {
		a.failed(http.StatusOK, invalidParams("The member params.arguments must be an object."))
		return
	}
	if arguments == nil {
		arguments = strictjson.Object{}
	}
	if err := a.beside(&call); err != nil {
		a.toolFailed(refusal.For(err))
		return
	}
	if name == toolset.Search || name == toolset.Describe {
		d.browse(r.Context(), a, name, arguments, call)
		return
	}
	a.trace(&call, name)
	t := d.tools.Of(r.Context(), a.Service.Definition)
	to, err := targetOf(t, name, arguments)
	if err != nil {
		a.toolFailed(refusal.For(err))
		return
	}
	a.schemed = hasOutputSchema(a.Service, name, to.IntentUID)
	call.Read = func() (execute.Request, error) { return to.Request, nil }
	result, err := a.execute(r.Context(), call)
	if err == nil {
		a.done(&result)
		return
	}
	if started, ok := errors.AsType[*taskError](err); ok {
		a.created(started)
		return
	}
	f := refusal.For(err)
	a.Refusal = f
	switch {
	case !to.known && (f.Reason == reason.IntentNotFound || f.Reason == reason.VersionConflict):
		unknown := unknownTool(t, name, f)
		unknown.Data = wire.Envelope(f, a.About(f))
		a.failed(http.StatusOK, unknown)
	case door.Challenged(f): // clients act on the status
		a.refused(f)
	case a.askPerson(f):
	default:
		a.toolFailed(f)
	}
}

// hasOutputSchema reports whether a tool, with which an intent is called, has an output schema.
func hasOutputSchema(s *service.Service, name, uid string) bool {
	in, err := s.Executable(uid)
	return name != toolset.Call && err == nil && in.OutputSchema() != nil
}

// execute makes a call, and reports its progress during the call.
func (a *answer) execute(ctx context.Context, call execute.Call) (execute.Result, error) {
	to, stop := a.reportProgress()
	defer stop()
	if to != nil {
		call.Stream, call.Progress = to.event, to.progress
	}
	if a.takesTasks() {
		return a.executeOrTask(ctx, call)
	}
	return a.Execute(ctx, call)
}

// beside reads the idempotency key, the proof and the request id of a call from headers or from _meta. It returns an error if the
// idempotency key or the proof is invalid, or differs between the two places.
func (a *answer) beside(call *execute.Call) error {
	meta := a.meta()
	key, err := either(a.header, meta, idempotencyKey)
	if err != nil {
		return err
	}
	if key != "" {
		if call.IdempotencyKey, err = execute.ParseIdempotencyKey(key); err != nil {
			return err
		}
	}
	if call.Proof, err = either(a.header, meta, proof); err != nil {
		return err
	}
	if sent := meta[x402.MetaPayment]; sent != nil && a.Service.Payments.X402 != nil {
		if call.Payment, err = x402.ReadTree(sent); err != nil {
			return wire.MalformedPayment(err)
		}
	}
	if id, isText := meta[requestID].(string); isText && a.header.Get(requestID) == "" {
		a.RequestID = execute.RequestIDFrom(id)
		call.RequestID = a.RequestID
		a.Header().Set(requestID, string(a.RequestID))
	}
	return nil
}

// trace sets the operation and the span of the call. The parent of the span is the span of the request or, if only _meta contains a
// traceparent, the span that the traceparent names. See OpenTelemetry semantic conventions for MCP.
func (a *answer) trace(call *execute.Call, tool string) {
	sent, _ := a.meta()["traceparent"].(string)
	call.Span = a.SpanOf(a.header, sent)
	call.Operation = &execute.Operation{Name: a.Method, Target: tool, Attributes: []attribute.KeyValue{
		attribute.String("mcp.method.name", a.Method), attribute.String("mcp.protocol.version", a.revision.name),
		attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("jsonrpc.request.id", string(a.ID)),
	}}
}

// either reads a value from a header or from the member of _meta with the same name. If both are present, they must be equal.
func either(h http.Header, meta strictjson.Object, name string) (string, error) {
	inHeader := h.Get(name)
	v, sent := meta[name]
	inMeta, isText := v.(string)
	switch {
	case !sent:
		return inHeader, nil
	case !isText || inMeta == "":
		return "", reason.InvalidParameter.Refusal("The member " + name + " of _meta must be a non-empty string.")
	case inHeader != "" && inHeader != inMeta:
		return "", reason.InvalidParameter.Refusal("The "+name+" header and the member of _meta with the same name differ.").
			With("suggestion", "Send the value in only one of the two places.")
	}
	return inMeta, nil
}

// metaOf appends a comma and the member _meta, with the values that the HTTP door sends as header fields.
func (a *answer) metaOf(out []byte) []byte {
	w := strictjson.NewWriter(append(out, `,"_meta":`...))
	h := a.Header()
	for _, m := range door.Beside {
		switch list := h[m.Field]; len(list) {
		case 0:
		case 1:
			w.Text(m.Name, list[0])
		default:
			w.Texts(m.Name, list)
		}
	}
	if a.Refusal != nil && a.Refusal.Terms != nil {
		w.JSON(x402.MetaRequired, a.Refusal.Terms)
	}
	if a.settlement != nil {
		w.JSON(x402.MetaResponse, a.settlement)
	}
	w.Text(requestID, string(a.RequestID))
	return ended(w)
}

// toolFailed responds with a refusal as a tool error that a model can act on: a sentence, and the UIM error as JSON. If the agent can pay,
// the terms follow as JSON; they are structuredContent as well, unless that would have to match the output schema of the tool. See MCP
// 2026-07-28, server/tools, Error Handling; x402, specs/transports-v2/mcp.md, Tool-Result Binding.
func (a *answer) toolFailed(f *reason.Refusal) {
	a.Refusal, a.fault, a.settlement = f, "tool_error", f.Settlement
	wire.WriteTaken(a.Header(), f)
	texts := []string{refusal.Sentence(f), string(wire.Envelope(f, a.About(f)))}
	if f.Terms != nil {
		texts = append(texts, string(f.Terms))
	}
	out := append(appendContent(append([]byte{'{'}, a.complete()...), texts...), `,"isError":true`...)
	if f.Terms != nil && !a.schemed {
		out = append(append(out, `,"structuredContent":`...), f.Terms...)
	}
	a.result(append(a.metaOf(out), '}'))
}

// unknownTool returns the error for an unknown tool. The message suggests another version of the intent if f lists versions, and otherwise
// the closest name.
func unknownTool(t *tool.Tools, name string, f *reason.Refusal) *jsonrpc.Error {
	const looked = 500 // the maximum number of names to compare
	text := "Unknown tool: " + bounded(name) + "."
	near := nearest(f)
	if near == "" {
		near = suggest.Name(bounded(name), t.Names[:min(len(t.Names), looked)])
	}
	if near != "" {
		text += " Did you mean " + near + "?"
	}
	return invalidParams(text)
}
