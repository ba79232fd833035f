package uagents

import (
	"cmp"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/uimgate/uimgate/bindings/uagents/agreement"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
	"github.com/uimgate/uimgate/pat"
)

// search replies to UIMSearch with UIMIntents: a page of full intents, as the search over HTTP returns them with view=full, because no
// other message has their parameters. A cursor is valid only for the query that returned it.
func (x *exchange) search(message strictjson.Object) (envelope.Envelope, error) {
	m := wire.NewMembers(message)
	values := map[string][]string{"view": {"full"}, "query": {m.Text("query", false)}, "tags": m.Texts("tags")}
	if cursor := m.Text("cursor", false); cursor != "" {
		if _, err := strconv.ParseUint(cursor, 10, 32); err != nil {
			return envelope.Envelope{}, m.Wrong("cursor", "is not a cursor that this service returned")
		}
		values["page"] = []string{cursor}
	}
	if err := m.Done(); err != nil {
		return envelope.Envelope{}, err
	}
	query, err := intents.ParseQuery(values)
	if err != nil {
		return envelope.Envelope{}, reason.InvalidParameter.Refusal(err.Error()) // the error names the parameter, never its value
	}
	page := x.Service.Catalog.Search(query)
	list := make([]json.RawMessage, 0, len(page.Intents))
	for _, in := range page.Intents {
		list = append(list, in.JSON())
	}
	var cursor *string
	if page.CurrentPage < page.TotalPages {
		next := strconv.Itoa(page.CurrentPage + 1)
		cursor = &next
	}
	return x.respond("UIMIntents", struct {
		Intents []json.RawMessage `json:"intents"`
		Cursor  *string           `json:"cursor"`
	}{list, cursor})
}

// policy replies to UIMPolicyRequest with the offered policy, byte for byte.
func (x *exchange) policy(message strictjson.Object) (envelope.Envelope, error) {
	if err := wire.NewMembers(message).Done(); err != nil {
		return envelope.Envelope{}, err
	}
	offer := x.Service.Offer()
	return x.respond("UIMPolicy", struct {
		UID      string `json:"uid"`
		Digest   string `json:"digest"`
		Issuer   string `json:"issuer"`
		Document string `json:"document"`
	}{offer.UID, offer.Digest, x.Service.Issuer, string(offer.Bytes)})
}

// agree handles UIMAgree and UIMAgreeToPlan. The envelope that carries the message is the agreement: agreement.Evidence reads and checks
// the envelope itself.
func (x *exchange) agree(message strictjson.Object) (envelope.Envelope, error) {
	issued, err := x.issue(message.Text("plan"))
	if err != nil {
		return envelope.Envelope{}, err
	}
	return x.agreed(issued)
}

// issue issues a PAT, with the envelope as the agreement. plan is the one that the agreement must choose; empty: any or none.
func (x *exchange) issue(plan string) (pat.Issuance, error) {
	if err := x.known(); err != nil {
		return pat.Issuance{}, err
	}
	issued, err := x.Issue(x.r.Context(), func() (pat.IssueRequest, error) {
		return pat.IssueRequest{Plan: plan, Evidence: agreement.Evidence{Envelope: x.raw, Target: x.settings().Address}}, nil
	})
	if err != nil {
		return pat.Issuance{}, err
	}
	if issued.State == pat.AgreementPending {
		return pat.Issuance{}, reason.InsufficientPermissions.Refusal(
			"The agreement is stored, but the operator of the service must approve the agent first.").
			With("status", "pending").With("agreement_id", issued.AgreementID).
			With("suggestion", "Agree again, with a new envelope, once the operator has approved the agent.")
	}
	return issued, nil
}

// agreed replies with UIMAgreed.
func (x *exchange) agreed(issued pat.Issuance) (envelope.Envelope, error) {
	return x.respond("UIMAgreed", struct {
		AgreementID pat.AgreementID `json:"agreement_id"`
		PAT         string          `json:"pat"`
		ExpiresAt   int64           `json:"expires_at"`
		Scope       []string        `json:"scope"`
	}{issued.AgreementID, issued.Token, issued.Claims.ExpiresAt.Unix(), append([]string{}, issued.Claims.Scope...)})
}

// execute handles UIMExecute: a call under one of the sender's PATs. A repeated envelope is the same call, and is executed only once.
func (x *exchange) execute(message strictjson.Object) (envelope.Envelope, error) {
	m := wire.NewMembers(message)
	request := execute.Request{IntentUID: m.Text("intent_uid", true), Parameters: m.Object("parameters")}
	named, key := m.Text("pat", false), m.Text("idempotency_key", false)
	result, err := x.call(named, cmp.Or(key, x.messageKey()), request, m.Done())
	if err != nil {
		return envelope.Envelope{}, err
	}
	answer, err := x.executed(request.IntentUID, &result)
	return answer, err
}

// call executes a call under the PAT in named, or under the sender's newest PAT if named is empty. key is the idempotency key. malformed is
// the error in the message, if there is one; the call is then refused as invalid.
func (x *exchange) call(named, key string, request execute.Request, malformed error) (execute.Result, error) {
	if err := x.known(); err != nil {
		return execute.Result{}, err
	}
	token, err := x.token(named)
	if err != nil {
		return execute.Result{}, execute.Unsent(err)
	}
	return x.callWith(token, key, request, malformed, x.proved())
}

// callWith is like call, with a PAT of the sender, and the proof of key to use; nil: none.
func (x *exchange) callWith(token, key string, request execute.Request, malformed error, proof *pat.Proof) (execute.Result, error) {
	call := x.Call(Name)
	call.Sender, call.Token = pat.AgentID(x.Sender), token
	if _, err := x.Identify(x.r, &call); err != nil {
		return execute.Result{}, err
	}
	call.Proved = proof
	var wrong error
	if call.IdempotencyKey, wrong = execute.ParseIdempotencyKey(key); malformed == nil {
		malformed = wrong
	}
	call.Read = func() (execute.Request, error) { return request, malformed }
	return x.Execute(x.r.Context(), call)
}

// executed replies with UIMResult. The model requires an object as output, so executed wraps any other output in an object with the member
// output.
func (x *exchange) executed(intent string, result *execute.Result) (envelope.Envelope, error) {
	output, err := x.output(result)
	if err != nil {
		return envelope.Envelope{}, err
	}
	if !strictjson.IsObject(output) {
		output = append(append([]byte(`{"output":`), output...), '}')
	}
	w := strictjson.NewWriter(nil)
	w.Text("intent_uid", intent)
	w.JSON("output", output)
	textOrNull(&w, "charge", x.header.Get(wire.Charge))
	textOrNull(&w, "rate_limit", x.header.Get("Ratelimit"))
	w.Text("request_id", string(x.RequestID))
	w.JSON("replayed", strconv.AppendBool(nil, result.Replayed))
	message, err := w.End()
	if err != nil {
		return envelope.Envelope{}, reason.Internal.Refusal("The reply could not be encoded.").Because(err).Charged(result.Charge)
	}
	return x.reply("UIMResult", protocol.UIM().Digest, message), nil
}

// output returns the output of a call, and sets the headers that accompany the reply. It returns an error if the output is not valid UTF-8.
func (x *exchange) output(result *execute.Result) (json.RawMessage, error) {
	if !utf8.Valid(result.Output) {
		return nil, reason.Internal.Refusal("The reply could not be encoded.").Charged(result.Charge)
	}
	door.WriteHeader(x.header, result)
	return json.RawMessage(result.Output), nil
}

func textOrNull(w *strictjson.Writer, name, text string) {
	if text == "" {
		w.JSON(name, []byte("null"))
		return
	}
	w.Text(name, text)
}
