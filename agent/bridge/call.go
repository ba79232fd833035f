package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/intents/toolset"
	"github.com/uimgate/uimgate/internal/suggest"
)

// receive returns middleware for the methods of the SDK: it reads the services again before tools are listed, and resolves the name
// of a called tool.
func (b *Bridge) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "tools/list":
			b.refresh(ctx, readFor)
		case "tools/call":
			call, ok := req.(*mcp.CallToolRequest)
			if !ok || call.Params == nil {
				break
			}
			return b.callTool(ctx, call)
		}
		return next(ctx, method, req)
	}
}

// callTool responds to a call to a tool, whether it is in the list or not.
func (b *Bridge) callTool(ctx context.Context, call *mcp.CallToolRequest) (mcp.Result, error) {
	switch call.Params.Name {
	case toolset.Search, toolset.Describe:
		return completed(call, b.browse(call.Params)), nil
	case toolset.Call:
		if err := b.through(call.Params); err != nil {
			return completed(call, invalidArguments(err)), nil
		}
	}
	name, known := b.toolName(call.Params.Name)
	if !known {
		return nil, b.unknownTool(call.Params.Name)
	}
	call.Params.Name = name
	b.mu.Lock()
	now, there := b.tools[name]
	b.mu.Unlock()
	if !there {
		return nil, b.unknownTool(name)
	}
	result, err := b.call(ctx, now, call)
	if err != nil { // a nil result must not become a non-nil interface
		return nil, err
	}
	return completed(call, result), nil
}

// unknownTool returns the error for an unknown tool name, with the closest known name.
func (b *Bridge) unknownTool(name string) error {
	message := fmt.Sprintf("Unknown tool: %s", oneLine(name, maxTitle))
	if near := suggest.Name(name, b.toolNames()); near != "" {
		message += "; did you mean " + near + "?"
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

// call executes one tools/call. If the host cancels the call or hangs up, or the bridge shuts down, call returns an error. The bridge then
// sends no further request, and waits in the background for the response to a request that was already sent, so that its charge becomes
// known.
func (b *Bridge) call(ctx context.Context, t tool, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	m := &toolCall{b: b, t: t}
	host, release := b.waiting(context.WithValue(ctx, toolCallKey{}, m))
	defer release()
	m.host = host
	if err := m.enter(); err != nil {
		return nil, err
	}
	work := context.WithoutCancel(host)
	answered := make(chan *mcp.CallToolResult, 1)
	began := b.begin(func() {
		defer m.exit()
		result, err := b.execute(work, m, req)
		if question, ok := errors.AsType[*pageError](err); ok {
			answered <- question.result()
			return
		}
		if err != nil {
			answered <- b.refusal(t, err)
			return
		}
		answered <- m.earlier(result, success(t, result))
	})
	if !began {
		m.exit()
		return nil, errEnds
	}
	select {
	case result := <-answered:
		return result, nil
	case <-host.Done():
		m.leave(work)
		return nil, context.Cause(host)
	}
}

var errEnds = errors.New("the server is shutting down")

// begin starts a call in the background, and reports whether it did: it starts none after the shutdown has begun. The shutdown waits for
// started calls, but at most for settleTime.
func (b *Bridge) begin(call func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running.Err() != nil {
		return false
	}
	b.working.Go(call)
	return true
}

// stop begins the shutdown: it prevents further calls.
func (b *Bridge) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shutDown()
}

// execute makes the call: it checks the agreement, asks the owner if it must, then reserves the price, and then calls the service.
func (b *Bridge) execute(ctx context.Context, m *toolCall, req *mcp.CallToolRequest) (agent.Result, error) {
	t, o := m.t, callOptions(req.Params.Meta)
	arguments, err := argumentsOf(req.Params)
	if err != nil {
		return agent.Result{}, err
	}
	service, terms, err := t.of.agreed(ctx, t.intent.UID.String())
	if err != nil {
		return agent.Result{}, err
	}
	before := service.Session()
	price, err := t.of.priceOf(t.intent.UID, before.PolicyDigest, terms)
	if err != nil {
		return agent.Result{}, err
	}
	question, err := m.confirmed(ctx, req, before, arguments, price)
	if err != nil {
		return agent.Result{}, err
	}
	defer question.unused(m)
	if !price.proved {
		// The reservation may be too small, so at most one such call may exceed the budget.
		if err := m.take(b.unproved); err != nil {
			return agent.Result{}, err
		}
		defer func() { <-b.unproved }()
	}
	if err := m.prepare(ctx, before, arguments, &o, price); err != nil {
		return agent.Result{}, err
	}
	if err := question.holds(m); err != nil {
		return agent.Result{}, err
	}
	if err := m.reserve(ctx, price); err != nil {
		return agent.Result{}, err
	}
	question.use()
	result, err := m.send(ctx, service, arguments, o)
	t.of.remember(t.intent.UID, result, err)
	if service.Session().Changed(before) {
		t.of.save(service)
	}
	if problems := contradictions(evidenceOf(result, err)); problems != "" {
		b.o.Log("the receipt of a call of " + t.intent.UID.String() + " does not match it: " + strings.ReplaceAll(problems, "\n", "; "))
	}
	charged, reported := chargedFor(result, err, m.reserved)
	if reported {
		t.of.note(t.intent.UID, before.PolicyDigest, price, charged)
	}
	if settleErr := m.settle(ctx, result, err, charged, reported); settleErr != nil {
		b.o.Log("the reserved amount stays reserved: " + oneLine(settleErr.Error(), maxNote))
	}
	if _, changed := errors.AsType[*agent.PolicyChangedError](err); changed {
		if unknown, ok := errors.AsType[*unknownError](err); ok {
			unknown.err = t.of.changed(ctx, unknown.err)
		} else {
			err = t.of.changed(ctx, err)
		}
	}
	return result, err
}

// callOptions returns the options of a call that the host gives in _meta, under the names of the HTTP headers. Every call has a
// proof of key and, unless the host gives one, an idempotency key of its own. The bridge itself waits for calls that are still running: see
// send.
func callOptions(meta mcp.Meta) agent.ExecuteOptions {
	text := func(name string) string {
		s, _ := meta[name].(string)
		return s
	}
	return agent.ExecuteOptions{
		Keyed: true, NoWait: true, IdempotencyKey: text("Idempotency-Key"), RequestID: text("UIM-Request-ID"), Traceparent: text("traceparent"),
	}
}
