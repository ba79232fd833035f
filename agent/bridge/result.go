package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/bridge/outbox"
	"github.com/uimgate/uimgate/agent/budget"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// success renders the result of a service: its JSON as text, and as structured content if it is an object. A result that violates the
// output parameters is rendered as an error, because clients would otherwise drop it although the call was made.
func success(t tool, r agent.Result) *mcp.CallToolResult {
	output := visible(r.Raw)
	result := &mcp.CallToolResult{Meta: resultMeta(r), Content: []mcp.Content{&mcp.TextContent{Text: string(output)}}}
	tree, isObject := strictjson.AsObject(r.Output)
	if isObject {
		result.StructuredContent = json.RawMessage(output)
	}
	if problems := contradictions(r.Evidence); problems != "" {
		result.Content = append(result.Content, &mcp.TextContent{Text: "The call was made, but its receipt does not match it:\n" + problems})
	}
	if len(t.intent.Outputs) == 0 {
		return result
	}
	if wrong := undeclared(t, tree, isObject); wrong != "" {
		text := fmt.Sprintf("The call was made, but its result does not match the declared output: %s. The result follows.", wrong)
		result.IsError, result.StructuredContent = true, nil
		result.Content = append([]mcp.Content{&mcp.TextContent{Text: text}}, result.Content...)
	}
	return result
}

// undeclared describes the first violation of the output parameters that it finds in a result. It returns the empty string if all values
// are valid.
func undeclared(t tool, output strictjson.Object, isObject bool) string {
	if !isObject {
		return "the result is not an object"
	}
	for _, p := range t.intent.Outputs {
		value, there := output[p.Name]
		if !there {
			if p.Required {
				return oneLine(p.Name, maxTitle) + " is missing"
			}
			continue
		}
		if fit, err := p.Fit(value); err != nil || !reflect.DeepEqual(fit, value) {
			return oneLine(p.Name, maxTitle) + " does not match its declared type"
		}
	}
	return ""
}

// resultMeta returns the values that a service sends in HTTP headers, under the same names, and UIM-Discrepancies, the problems that the
// client found in the receipt.
func resultMeta(r agent.Result) mcp.Meta {
	meta := mcp.Meta{}
	if r.Charge != nil {
		meta["UIM-Charge"] = r.Charge.String()
	}
	if r.Receipt != nil {
		meta["UIM-Receipt"] = r.Receipt.Text
	}
	if len(r.Discrepancies) > 0 {
		meta["UIM-Discrepancies"] = r.Discrepancies
	}
	if l := r.RateLimit; l != nil {
		meta["RateLimit"] = fmt.Sprintf(`"limit";r=%d;t=%d`, l.Remaining, int64(math.Ceil(l.Reset.Seconds())))
	}
	if r.RequestID != "" {
		meta["UIM-Request-ID"] = r.RequestID
	}
	if r.Replayed {
		meta["Idempotency-Replayed"] = "true"
	}
	return meta
}

// Reasons that the bridge itself adds to those of services.
const (
	reasonBudget      = "BUDGET_EXCEEDED"
	reasonNoBudget    = "NO_BUDGET"
	reasonCurrency    = "OTHER_CURRENCY"
	reasonPending     = "PENDING"
	reasonIssuer      = "ISSUER_UNCONFIRMED"
	reasonUnreachable = "SERVICE_UNREACHABLE"
	reasonRefused     = "CONFIRMATION_REFUSED"
	reasonOther       = "CALL_FAILED"
)

// A failure is a refusal in the form of a service's error. See UIM core, section 3.3.
type failure struct {
	Code    string         `json:"code,omitempty"`
	Message string         `json:"message"`
	Details map[string]any `json:"details"`
}

// refusal renders an error for the model: a sentence, and then the error as JSON. It adds no structured content, because clients
// would drop the whole result if that content violated the output schema.
func (b *Bridge) refusal(t tool, err error) *mcp.CallToolResult {
	f, sentence := b.explain(t, err)
	_, lost := errors.AsType[*agent.LostError](err)
	if unknown, ok := errors.AsType[*unknownError](err); ok {
		f.Details["outcome"] = "unknown"
		if unknown.call.Key != "" {
			f.Details["idempotency_key"] = unknown.call.Key
		}
		sentence = unknown.advice() + " " + sentence
	} else if lost {
		f.Details["outcome"] = "unknown"
		sentence += " An earlier attempt, whose response was lost, may have taken effect."
	}
	if unsent(err) {
		f.Details["outcome"] = "not_sent"
		sentence = "No call was made, because the PAT could not be renewed. " + sentence
	}
	text, marshalErr := json.Marshal(map[string]any{"error": f})
	if marshalErr != nil {
		text = []byte(`{"error":{"message":"the error could not be encoded"}}`)
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{
		&mcp.TextContent{Text: severalLines(sentence, maxSentence+maxWords)}, &mcp.TextContent{Text: string(text)},
	}}
}

// explain returns an error as data, and as a message with instructions.
func (b *Bridge) explain(t tool, err error) (failure, string) {
	if terms, ok := errors.AsType[*termsError](err); ok {
		return terms.explain()
	}
	if unconfirmed, ok := errors.AsType[*confirmationError](err); ok {
		return unconfirmed.explain()
	}
	if refused, ok := errors.AsType[*agent.Error](err); ok {
		return b.explainRefusal(t, refused)
	}
	own := func(code, why string, format string, args ...any) (failure, string) {
		sentence := fmt.Sprintf(format, args...)
		return failure{code, oneLine(sentence, maxSentence), map[string]any{"reason": why}}, sentence
	}
	text := oneLine(err.Error(), maxNote)
	if unknown, ok := errors.AsType[*unknownError](err); ok && unknown.err == nil {
		return own(string(reason.CodeConflict), string(reason.OutcomeUnknown), "No call was made.")
	}
	if errors.Is(err, outbox.ErrFull) {
		return own("", reasonOther,
			"No call was made: %s. First retrieve the outstanding outcomes by calling the same tools again with the same arguments.", text)
	}
	if exceeded, ok := errors.AsType[*budget.ExceededError](err); ok {
		f, sentence := own(string(reason.CodePaymentRequired), reasonBudget,
			"No call was made: %s. The owner of this agent can allow more by restarting uimgate mcp with a higher --budget.", text)
		f.Details["budget"], f.Details["spent"], f.Details["until"] = exceeded.Limit.String(), exceeded.Spent.String(), exceeded.Until
		return f, sentence
	}
	if none, ok := errors.AsType[*budget.CurrencyError](err); ok {
		cost := "The call is not known to be free of charge"
		if !none.Requested.IsZero() {
			cost = "The call costs up to " + none.Requested.String()
		}
		return own(string(reason.CodePaymentRequired), reasonNoBudget,
			`No call was made. %s, and the owner of this agent has set no budget for it. `+
				`To set one, the owner can start uimgate mcp with --budget, such as --budget "5 EUR/day".`,
			cost)
	}
	if other, ok := errors.AsType[*currencyError](err); ok {
		f, sentence := own(string(reason.CodePaymentRequired), reasonCurrency,
			"No call was made: %s. The tool stays disabled under these terms until the owner of this agent restarts uimgate mcp.", text)
		f.Details["charged"] = other.charged.String()
		return f, sentence
	}
	if waiting, ok := errors.AsType[*agent.PendingError](err); ok {
		return own(string(reason.CodeForbidden), reasonPending,
			"No call was made: %s. Call the tool again later.", oneLine(waiting.Error(), maxNote))
	}
	if issuer, ok := errors.AsType[*agent.IssuerError](err); ok {
		nevertheless := ""
		if _, _, offered, _ := t.of.state(); b.o.AgreeCommand != nil {
			nevertheless = " The owner of this agent can still agree by running: " +
				b.o.AgreeCommand(t.of.target, offered.Digest, oneLine(issuer.Issuer, maxNote))
		}
		return own(string(reason.CodeForbidden), reasonIssuer, "No call was made: %s.%s", oneLine(issuer.Error(), maxNote), nevertheless)
	}
	if errors.Is(err, agent.ErrParameters) {
		return own(string(reason.CodeInvalidParameter), string(reason.InvalidParameter), "No call was made: %s.", text)
	}
	if lost, ok := errors.AsType[*fetch.Error](err); ok {
		f, sentence := own(string(reason.CodeServiceUnavailable), reasonUnreachable, "The request to the service failed: %s.", text)
		f.Details["outcome"] = "not_sent"
		if lost.Sent && !unsent(err) {
			f.Details["outcome"] = "unknown"
			sentence += " It is not known whether the call took effect."
		}
		return f, sentence
	}
	return own("", reasonOther, "The call failed: %s.", text)
}

// explain describes the terms, and what the owner must do to accept them.
func (e *termsError) explain() (failure, string) {
	suggestion := "The owner of this agent must read the terms, and can then agree by running: " + e.command
	policy := map[string]string{"uid": oneLine(e.offered.UID, maxNote), "digest": e.offered.Digest}
	f := failure{string(reason.CodeForbidden), oneLine(e.Error(), maxNote), map[string]any{
		"reason": reason.PolicyRequiresAgreement, "policy": policy, "suggestion": suggestion,
	}}
	if e.agreed != "" {
		f.Details["agreed"] = e.agreed
	}
	words := e.words
	if words == "" {
		words = "(The terms cannot be explained in plain words. The document begins:)\n" + string(e.offered.Raw)
	}
	heading := "The terms of " + e.service
	if e.changes {
		heading = "Changes in the terms of " + e.service
	}
	return f, fmt.Sprintf("No call was made: %s.\n\n%s:\n%s\n\n%s\nThen call the tool again.",
		e.Error(), heading, severalLines(words, maxWords), suggestion)
}

// explainRefusal describes the service's refusal.
func (b *Bridge) explainRefusal(t tool, e *agent.Error) (failure, string) {
	left := maxDetails
	reply, _ := details(e.Details, &left).(map[string]any)
	if reply == nil {
		reply = map[string]any{}
	}
	f := failure{e.Code, e.Message, reply}
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	say("%s", sentenceOf(e.Error()))
	for _, v := range e.Violations {
		say("%s", sentenceOf(v.String()))
	}
	if e.Upstream != "" {
		say("Message of the service's API: %s", sentenceOf(e.Upstream))
	}
	if e.Is(agent.ErrIdempotencyInProgress) { // the bridge has waited, and gives its own instructions instead
		delete(reply, "suggestion")
		delete(reply, "retry_after")
		return f, strings.Join(out, " ")
	}
	if e.Suggestion != "" {
		say("%s", sentenceOf(e.Suggestion))
	}
	if e.RetryAfter > 0 {
		say("The call may be retried after %d seconds.", int64(math.Ceil(e.RetryAfter.Seconds())))
		reply["retry_after"] = int64(math.Ceil(e.RetryAfter.Seconds()))
	}
	if e.Outcome == "unknown" || e.Outcome == "done" {
		say("The call may have taken effect (outcome: %s).", e.Outcome)
	}
	if e.Charge != nil {
		say("Charge: %s.", e.Charge)
	}
	if problems := contradictions(e.Evidence); problems != "" {
		say("The receipt of the charge does not match the call: %s", sentenceOf(problems))
		reply["discrepancies"] = e.Discrepancies
	}
	ended := e.Is(agent.ErrRevokedToken) || e.Is(agent.ErrInvalidToken) || e.Is(agent.ErrExpiredToken)
	if _, _, offered, _ := t.of.state(); ended && b.o.AgreeCommand != nil && offered.Digest != "" {
		say("The owner of this agent can agree again by running: %s", b.o.AgreeCommand(t.of.target, offered.Digest, ""))
	}
	return f, strings.Join(out, " ")
}

// sentenceOf returns s as one line. It adds a full stop unless the line is empty, or ends with a full stop, an ellipsis or a question mark.
func sentenceOf(s string) string {
	s = oneLine(s, maxNote)
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "…") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}
