package examples_test

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// A door is another protocol: agents post {"do": "find" or "agree" …}, and receive one JSON object. It contains no rules: executor and
// agreements make all checks, counts and charges.
type door struct {
	directory  *service.Directory
	executor   *execute.Executor
	agreements *agree.Service
}

// A doorRequest is the message that agents post. Do determines which members are used.
type doorRequest struct {
	Do         string         `json:"do"`
	Text       string         `json:"text"`     // find
	AgentID    string         `json:"agent_id"` // agree
	PublicKey  any            `json:"key"`      // agree
	Signed     string         `json:"signed"`   // agree
	Scope      []string       `json:"scope"`    // agree
	PAT, Proof string         // renew, execute
	Key        string         `json:"once"`       // execute: the idempotency key
	Intent     string         `json:"intent"`     // execute
	Parameters map[string]any `json:"parameters"` // execute
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := d.answer(w, r)
	if err != nil {
		answer = rendered(err)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func (d *door) answer(w http.ResponseWriter, r *http.Request) (any, error) {
	var q doorRequest
	served := func() *service.Service { return d.directory.Current().ForHost(r.Host) }
	s := served()
	if s == nil {
		return nil, reason.UnknownHost.Refusal("")
	}
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, s.MaxBody))
	body.UseNumber()
	body.DisallowUnknownFields()
	if err := body.Decode(&q); err != nil {
		return nil, reason.MalformedRequest.Refusal("The body is not one JSON object of this door.").Because(err)
	}
	desk := agree.Call{Service: s, From: r.RemoteAddr}
	switch q.Do {
	case "find":
		return s.Catalog.Search(intents.Query{Text: q.Text}), nil
	case "policy":
		return s.PolicyRef(), nil
	case "agree":
		return issued(d.agreements.Issue(r.Context(), desk, func() (pat.IssueRequest, error) {
			return pat.IssueRequest{AgentID: q.AgentID, PublicKey: q.PublicKey, SignedPolicy: q.Signed, Scope: q.Scope}, nil
		}))
	case "renew":
		return issued(d.agreements.Renew(r.Context(), desk, func() (pat.RenewRequest, error) {
			return pat.RenewRequest{Token: q.PAT, Proof: q.Proof}, nil
		}))
	case "execute":
		return d.execute(r, served, q)
	}
	return nil, reason.MalformedRequest.Refusal("do is find, policy, agree, renew or execute.")
}

func (d *door) execute(r *http.Request, served func() *service.Service, q doorRequest) (any, error) {
	request := execute.Request{IntentUID: q.Intent, Parameters: q.Parameters}
	read := func() (execute.Request, error) { return request, nil }
	call := execute.Call{Service: served, Token: q.PAT, Proof: q.Proof, RequestID: execute.RequestIDFrom(""), Read: read}
	if q.Key != "" {
		var err error
		if call.IdempotencyKey, err = execute.ParseIdempotencyKey("door:" + q.Key); err != nil {
			return nil, err
		}
	}
	result, err := d.executor.Execute(r.Context(), call)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"output": json.RawMessage(result.Output), "charge": charged(result.Charge), "replayed": result.Replayed, "limits": len(result.Standing),
	}, nil
}

func issued(i pat.Issuance, err error) (any, error) {
	return map[string]any{"pat": i.Token, "agreement": i.AgreementID, "state": i.State, "omitted": i.Omitted}, err
}

func charged(c *reason.Charge) string {
	if c != nil {
		return c.String() + " " + c.State
	}
	return ""
}

// rendered returns a refusal in the format of this door.
func rendered(err error) any {
	f, ok := errors.AsType[*reason.Refusal](err)
	if !ok {
		f = reason.Internal.Refusal("").Because(err)
	}
	return map[string]any{
		"refused": f.Reason, "code": f.Code, "number": f.Reason.Number(), "message": f.Message, "suggestion": f.Suggestion(),
		"details": f.Details, "retry": f.RetryAfter.Seconds(), "charge": charged(f.Charge), "replayed": f.Replayed, "limits": len(f.Standing),
	}
}
