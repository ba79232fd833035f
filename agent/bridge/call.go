package bridge

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/budget"
	"github.com/uimgate/uimgate/agent/fetch"
	"github.com/uimgate/uimgate/internal/money"
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
	price, known := priceOf(t, terms)
	if !known {
		if err := b.alone(ctx); err != nil {
			return agent.Result{}, err
		}
		defer func() { <-b.unpriced }()
	}
	reserved, err := b.reserve(ctx, price, known)
	if err != nil {
		return agent.Result{}, err
	}
	before := service.Session()
	result, err := service.Execute(ctx, t.intent.UID.String(), arguments, callOptions(p.Meta))
	if after := service.Session(); !after.IssuedAt.Equal(before.IssuedAt) { // it was renewed
		t.of.save(service)
	}
	if charged, told := chargedFor(result, err, reserved); told {
		if known && (charged.Nano > price.Nano || charged.Nano > 0 && charged.Currency != price.Currency) {
			b.o.Log(fmt.Sprintf("%s charged %s for %s, more than its policy says", oneLine(t.of.target, maxTitle), charged, t.intent.UID))
			t.of.overcharged(t.intent.UID, charged)
		}
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

// priceOf is the most that a call costs: what the service has charged beyond its terms, or else under these, or what the service
// says of it in agents.json; known is false where nothing tells it.
func priceOf(t tool, terms Terms) (most money.Amount, known bool) {
	if charged, more := t.of.chargedFor(t.intent.UID); more {
		return charged, true
	}
	if term, told := terms.Intents[t.intent.UID.String()]; told {
		return term.Most, true
	}
	if said, err := money.Parse(t.intent.Price); err == nil && !said.IsZero() {
		return said, true
	}
	return money.Amount{}, false
}

// alone waits until no other call is under way whose price is not known: nothing can be reserved for those, and so no more than
// one of them may exceed the budget.
func (b *Bridge) alone(ctx context.Context) error {
	gone, _ := ctx.Value(hostGone{}).(<-chan struct{})
	select {
	case b.unpriced <- struct{}{}:
		return nil
	case <-gone:
		return context.Canceled
	case <-b.stopping:
		return context.Canceled
	}
}

// reserve sets aside what a call may cost. A call whose price is not known needs a budget, too: what it costs is counted when the
// service says so.
func (b *Bridge) reserve(ctx context.Context, price money.Amount, known bool) (*budget.Reservation, error) {
	if known && price.IsZero() {
		return b.o.Budget.Nothing(), nil
	}
	return b.o.Budget.Reserve(ctx, price)
}

// chargedFor returns what a call was charged for; known is false where nobody can tell, so that the reservation stays.
func chargedFor(r agent.Result, err error, reserved *budget.Reservation) (charged money.Amount, known bool) {
	if err == nil {
		if r.Charge != nil {
			return amountOf(r.Charge), true
		}
		return money.Amount{}, reserved.Amount().IsZero() // a service that names no charge may have made it
	}
	if _, lost := errors.AsType[*agent.LostError](err); lost {
		return money.Amount{}, false
	}
	if unsent(err) {
		return money.Amount{}, true
	}
	if refusal, ok := errors.AsType[*agent.Error](err); ok {
		return chargedDespite(refusal)
	}
	if failure, ok := errors.AsType[*fetch.Error](err); ok && failure.Sent {
		return money.Amount{}, false
	}
	return money.Amount{}, true
}

// unsent reports whether a call was not sent since its PAT could not be renewed: what the error says of an exchange is of that.
func unsent(err error) bool {
	_, renewing := errors.AsType[*agent.RenewalError](err)
	_, lost := errors.AsType[*agent.LostError](err)
	return renewing && !lost
}

// chargedDespite is chargedFor after a refusal or a failure of the service.
func chargedDespite(e *agent.Error) (charged money.Amount, known bool) {
	switch {
	case e.Charge != nil:
		return amountOf(e.Charge), true
	case e.Outcome == "not_sent", e.Outcome == "failed":
		return money.Amount{}, true
	case e.Outcome != "", e.Status >= http.StatusInternalServerError, e.Status/100 == 2, e.Is(agent.ErrOutcomeUnknown),
		e.Is(agent.ErrIdempotencyInProgress):
		return money.Amount{}, false
	}
	return money.Amount{}, true
}

// amountOf is what a charge takes: all of it until it is released.
func amountOf(c *agent.Charge) money.Amount {
	if c.State == "released" {
		return money.Amount{}
	}
	return c.Amount
}
