package bridge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/bridge/confirm"
	"github.com/uimgate/uimgate/agent/budget"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	// elicited is the name of the request in a result that requires input.
	elicited = "confirm"
	// rounds is the first revision in which a server asks in the result of a call. See MCP 2026-07-28, basic/patterns/mrtr.
	rounds = "2026-07-28"
)

// A confirmationError means that the owner has not confirmed a call. No call was made.
type confirmationError struct {
	url     string // the address of the page; empty: none
	refused bool   // the owner has refused the call
	price   string
}

func (e *confirmationError) Error() string {
	if e.refused {
		return "the owner of this agent has refused the call"
	}
	return "the owner of this agent must confirm the call (price: " + e.price + ")"
}

// explain describes the error for the model.
func (e *confirmationError) explain() (failure, string) {
	f := failure{string(reason.CodeForbidden), e.Error(), map[string]any{"reason": string(reason.ConfirmationRequired), "price": e.price}}
	switch {
	case e.refused:
		f.Details["reason"] = reasonRefused
		return f, "No call was made: " + e.Error() + ". Do not repeat it unless the owner asks for it."
	case e.url == "":
		return f, "No call was made: " + e.Error() + ". Call the tool again to ask the owner."
	}
	f.Details["confirm_url"] = e.url
	return f, fmt.Sprintf("No call was made: %s. Ask the owner to open %s in a browser of this computer, and to confirm the call there. "+
		"Then call the tool again with exactly the same arguments, within ten minutes.", e.Error(), e.url)
}

// A pageError is the error of a call whose host must first send the owner to a page.
type pageError struct {
	question confirm.Question
	message  string
}

func (e *pageError) Error() string { return e.message }

func (e *pageError) elicitation() *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "url", Message: e.message, URL: e.question.URL, ElicitationID: e.question.ID}
}

// result returns the result that requires input. See MCP 2026-07-28, basic/patterns/mrtr.
func (e *pageError) result() *mcp.CallToolResult {
	r, p := resultOf("input_required"), e.elicitation()
	p.ElicitationID = "" // the revision has none
	r.InputRequests, r.RequestState = mcp.InputRequestMap{elicited: p}, e.question.ID
	return r
}

// resultOf returns an empty result of a type. The SDK sets the type only for tools that are registered there, so resultOf decodes it.
func resultOf(kind string) *mcp.CallToolResult {
	r := &mcp.CallToolResult{}
	_ = json.Unmarshal([]byte(`{"resultType":"`+kind+`","content":[]}`), r) // it is valid
	return r
}

// completed returns a result with the type that clients of revision 2026-07-28 require.
func completed(req *mcp.CallToolRequest, of *mcp.CallToolResult) *mcp.CallToolResult {
	if _, ownRounds := capabilities(req); !ownRounds || of == nil || of.NeedsInput() {
		return of
	}
	r := resultOf("complete")
	r.Meta, r.Content, r.StructuredContent, r.IsError = of.Meta, of.Content, of.StructuredContent, of.IsError
	return r
}

// A confirmation is the owner's confirmation of one call. nil: the call needs none.
type confirmation struct {
	pages  *confirm.Pages
	digest string
	cost   price
	price  string
	taken  bool // the owner has confirmed the call; otherwise the call must request the outcome of an earlier one
	used   bool
}

// holds returns a *confirmationError if the owner has not confirmed the call, and the call does not request the outcome of an earlier one
// at the same price.
func (c *confirmation) holds(m *toolCall) error {
	if c == nil || c.taken || m.found && !c.cost.exceeds(&m.call) {
		return nil
	}
	return &confirmationError{price: c.price}
}

// use records that the call is about to be sent.
func (c *confirmation) use() {
	if c != nil {
		c.used = true
	}
}

// unused restores the confirmation of a call that was not sent, or that requested the outcome of an earlier one.
func (c *confirmation) unused(m *toolCall) {
	if c != nil && c.taken && (!c.used || m.found && !c.cost.exceeds(&m.call)) {
		c.pages.Return(c.digest)
	}
}

// mustConfirm reports whether the owner must confirm a call with this price.
func (b *Bridge) mustConfirm(p price) bool {
	if b.o.Confirm == nil || p.known && p.most.IsZero() {
		return false
	}
	below := func(most money.Amount) bool { return most.Currency == p.most.Currency && p.most.Nano <= most.Nano }
	return !p.known || !slices.ContainsFunc(b.o.ConfirmAbove, below)
}

// confirmed asks the owner about a call that the owner must confirm, and waits for the answer if the host opens pages. A call that requests
// the outcome of an earlier one was confirmed before, unless it may cost more. Errors: *confirmationError, *pageError, agent.ErrParameters,
// those of the outbox, of budget.Book.Fits and of the pages, and context.Canceled if the host no longer waits.
func (m *toolCall) confirmed(
	ctx context.Context, req *mcp.CallToolRequest, s agent.Session, arguments strictjson.Object, p price,
) (*confirmation, error) {
	if !m.b.mustConfirm(p) {
		return nil, nil //nolint:nilnil // the call needs no confirmation
	}
	uid := m.t.intent.UID.String()
	c := &confirmation{pages: m.b.o.Confirm, digest: p.digestFor(s, uid, arguments), cost: p, price: p.words()}
	if callOptions(req.Params.Meta).IdempotencyKey == "" {
		earlier, found, err := m.b.outbox.Look(ctx, s.FileName(), digestOf(uid, arguments))
		if err != nil || found && !p.exceeds(&earlier) {
			return c, err
		}
	}
	err := c.take()
	if missing, ok := errors.AsType[*confirmationError](err); ok && !missing.refused {
		err = m.ask(ctx, req, c, arguments, p)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// take takes the owner's answer. The error is a *confirmationError unless the owner has confirmed the call.
func (c *confirmation) take() error {
	state := c.pages.Take(c.digest)
	c.taken = state == confirm.Allowed
	if c.taken {
		return nil
	}
	return &confirmationError{price: c.price, refused: state == confirm.Refused}
}

// ask has the host open the page about a call, waits until the owner has answered, and takes the answer.
func (m *toolCall) ask(ctx context.Context, req *mcp.CallToolRequest, c *confirmation, arguments strictjson.Object, p price) error {
	spent, err := m.b.o.Budget.Fits(ctx, p.most)
	if err != nil { // do not ask about a call that the budget refuses
		return err
	}
	call, err := m.described(arguments, c.price, spent)
	if err != nil {
		return err
	}
	q, err := c.pages.Ask(ctx, c.digest, call)
	if err != nil {
		return err
	}
	ctx = m.host
	asked := &pageError{q, fmt.Sprintf("%s: %s. Price: %s. Open the page to confirm or refuse this call.",
		call.Service, call.Name, call.Price)}
	opens, ownRounds := capabilities(req)
	switch response, answered := req.Params.InputResponses[elicited].(*mcp.ElicitResult); {
	case !opens:
		return &confirmationError{url: q.URL, price: call.Price}
	case answered && response != nil && req.Params.RequestState == q.ID:
		err = accepted(response, nil)
	case ownRounds:
		return asked
	default:
		m.exit()
		err = accepted(req.Session.Elicit(ctx, asked.elicitation())) //nolint:contextcheck // m.host ends with ctx
		if err == nil {
			defer m.complete(ctx, req.Session, q.ID) //nolint:contextcheck // as above
		}
		if enterErr := m.enter(); enterErr != nil {
			return enterErr
		}
	}
	if err != nil {
		c.pages.Drop(q.ID)
		return &confirmationError{price: call.Price, refused: errors.Is(err, errDeclined)}
	}
	m.exit()
	if err := c.pages.Wait(ctx, q.ID); err != nil { //nolint:contextcheck // as above
		return context.Canceled
	}
	if err := m.enter(); err != nil {
		return err
	}
	return c.take()
}

// complete notifies the host that the page about a call is done. See MCP 2025-11-25, client/elicitation.
func (m *toolCall) complete(ctx context.Context, session *mcp.ServerSession, id string) {
	if err := session.NotifyElicitationComplete(ctx, &mcp.ElicitationCompleteParams{ElicitationID: id}); err != nil && ctx.Err() == nil {
		m.b.o.Log(oneLine(err.Error(), maxNote))
	}
}

var errDeclined = errors.New("the owner did not open the page")

// accepted returns an error unless the owner agreed to open the page. The answer on the page is a separate one.
func accepted(r *mcp.ElicitResult, err error) error {
	switch {
	case err != nil:
		return err
	case r.Action != "accept":
		return errDeclined
	}
	return nil
}

// capabilities reports whether the host of a call opens pages, and whether its revision asks in the result of a call.
func capabilities(req *mcp.CallToolRequest) (opens, ownRounds bool) {
	params := req.Session.InitializeParams()
	if params == nil {
		return false, false
	}
	c := params.Capabilities
	return c != nil && c.Elicitation != nil && c.Elicitation.URL != nil, params.ProtocolVersion >= rounds
}

// described returns the description of a call for its owner.
func (m *toolCall) described(arguments strictjson.Object, price string, spent []budget.Spent) (confirm.Call, error) {
	text, err := strictjson.Append(nil, map[string]any(arguments))
	var pretty bytes.Buffer
	if err == nil {
		err = json.Indent(&pretty, text, "", "  ")
	}
	if err != nil {
		return confirm.Call{}, fmt.Errorf("%w: they cannot be shown to the owner", agent.ErrParameters)
	}
	call := confirm.Call{
		Service: oneLine(m.t.of.target, maxTitle), Intent: m.t.intent.UID.String(), Name: oneLine(m.t.intent.Name, maxTitle),
		Parameters: string(visible(pretty.Bytes())), Price: price,
	}
	for _, one := range spent {
		call.Budgets = append(call.Budgets, one.String()+" is spent or reserved")
	}
	return call, nil
}

// words describes a price for the owner.
func (p price) words() string {
	if !p.known {
		return "unknown"
	}
	return "up to " + p.most.String()
}

// digestFor returns a digest of all that a confirmation depends on: the agreement, the call and its price.
func (p price) digestFor(s agent.Session, uid string, arguments strictjson.Object) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{s.FileName(), s.PolicyDigest, digestOf(uid, arguments), p.words()}, "\n")))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
