package bridge

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/internal/nearest"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// receive stands before the methods of the SDK.
func (b *Bridge) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "tools/list":
			b.refresh(ctx)
		case "tools/call":
			call, ok := req.(*mcp.CallToolRequest)
			if !ok || call.Params == nil {
				break
			}
			name, known := b.toolName(call.Params.Name)
			if !known {
				return nil, b.unknownTool(call.Params.Name)
			}
			call.Params.Name = name
		}
		return next(ctx, method, req)
	}
}

// unknownTool is the error for a name that no tool has, with the one that may be meant.
func (b *Bridge) unknownTool(name string) error {
	message := fmt.Sprintf("Unknown tool: %s", oneLine(name, maxTitle))
	if near := nearest.Name(name, b.toolNames()); near != "" {
		message += "; perhaps " + near + " is meant"
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

// hostGone is the key of a channel in the context of a call: it is closed when the host cancels the call.
type hostGone struct{}

// cancelled reports whether the host has cancelled the call of a context.
func cancelled(ctx context.Context) bool {
	gone, _ := ctx.Value(hostGone{}).(<-chan struct{})
	select {
	case <-gone:
		return true
	default:
		return false
	}
}

// gated makes transports that send nothing more of a call that the host has cancelled. What was sent runs to its end, and so do
// agreements and renewals, which other calls wait for.
func gated(wrap func(http.RoundTripper) http.RoundTripper) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		if wrap != nil {
			next = wrap(next)
		}
		return gate{next}
	}
}

type gate struct{ next http.RoundTripper }

func (g gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Idempotency-Key") != "" && cancelled(r.Context()) {
		return nil, context.Canceled
	}
	return g.next.RoundTrip(r)
}

// call is one tools/call. The host may cancel it: nothing more is sent then, and what was sent already is awaited unseen, so
// that its charge is known.
func (b *Bridge) call(ctx context.Context, t tool, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	select {
	case b.places <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	answered := make(chan *mcp.CallToolResult, 1)
	work := context.WithValue(context.WithoutCancel(ctx), hostGone{}, ctx.Done())
	began := b.begin(func() {
		defer func() { <-b.places }()
		result, err := b.execute(work, t, req.Params)
		if err != nil {
			answered <- b.refusal(t, err)
			return
		}
		answered <- success(t, result)
	})
	if !began {
		<-b.places
		return nil, errEnds
	}
	select {
	case result := <-answered:
		return result, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-b.stopping:
		return nil, errEnds
	}
}

var errEnds = errors.New("the server ends")

// begin starts a call, unless the end has come, which waits for those that have begun.
func (b *Bridge) begin(call func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.stopping:
		return false
	default:
		b.working.Go(call)
		return true
	}
}

// stop lets no call begin any more.
func (b *Bridge) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.stopping)
}

// execute makes the call: agreement, then budget, then the service.
func (b *Bridge) execute(ctx context.Context, t tool, p *mcp.CallToolParamsRaw) (agent.Result, error) {
	arguments := strictjson.Object{}
	if len(p.Arguments) > 0 && string(p.Arguments) != "null" {
		var err error
		if arguments, err = strictjson.DecodeObject(p.Arguments); err != nil {
			return agent.Result{}, fmt.Errorf("%w: %w", agent.ErrParameters, err)
		}
	}
	service, terms, err := t.of.agreed(ctx)
	if err != nil {
		return agent.Result{}, err
	}
	under := service.Session().PolicyDigest
	price, err := t.of.priceOf(t.intent.UID, under, terms)
	if err != nil {
		return agent.Result{}, err
	}
	if !price.proved {
		if err := b.alone(ctx); err != nil {
			return agent.Result{}, err
		}
		defer func() { <-b.unproved }()
	}
	reserved, err := b.reserve(ctx, price)
	if err != nil {
		return agent.Result{}, err
	}
	before := service.Session()
	result, err := service.Execute(ctx, t.intent.UID.String(), arguments, callOptions(p.Meta))
	if after := service.Session(); !after.IssuedAt.Equal(before.IssuedAt) { // it was renewed
		t.of.save(service)
	}
	if charged, told := chargedFor(result, err, reserved); told {
		t.of.note(t.intent.UID, under, price, charged)
		if settleErr := reserved.Settle(ctx, charged); settleErr != nil {
			b.o.Log("what was reserved stays reserved: " + oneLine(settleErr.Error(), maxNote))
		}
	}
	if _, changed := errors.AsType[*agent.PolicyChangedError](err); changed {
		err = t.of.changed(ctx, err)
	}
	return result, err
}

// callOptions are what the host says about a call in its _meta, under the names of the HTTP headers. Every call has an
// idempotency key of its own and is proved.
func callOptions(meta mcp.Meta) agent.ExecuteOptions {
	text := func(name string) string {
		s, _ := meta[name].(string)
		return s
	}
	return agent.ExecuteOptions{
		Keyed: true, IdempotencyKey: text("Idempotency-Key"), RequestID: text("UIM-Request-ID"), Traceparent: text("traceparent"),
	}
}
