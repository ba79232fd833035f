package via

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// The actions of a service that is an agent on an MRP relay.
const (
	ActionAgree   = "uim:agree"
	ActionRenew   = "uim:renew"
	ActionExecute = "uim:execute"
)

// MRP encodes a request to a UIM endpoint as a request to an agent on a relay of the Machine Relay Protocol, and converts the
// response to that of the endpoint. It sends nothing itself.
type MRP struct{}

// Request converts the HTTP header and body of a request into the body of a message of type wire.TypeRequest. The error wraps
// ErrAnswer if the HTTP body is not a JSON object.
func (MRP) Request(action string, header http.Header, body []byte) (json.RawMessage, error) {
	params := map[string]any{}
	if len(body) > 0 {
		tree, err := strictjson.DecodeObject(body)
		if err != nil {
			return nil, wrong("the body of the call is not a JSON object")
		}
		params = tree
	}
	if action == ActionAgree { // the service takes the id and the key from the sender
		agreement := params["signed_policy"]
		for _, name := range []string{"signed_policy", "agent_id", "agent_public_key"} {
			delete(params, name)
		}
		params["agreement"] = agreement
	}
	for name, value := range map[string]string{
		"pat": strings.TrimPrefix(header.Get("Authorization"), "Bearer "), "proof": header.Get("UIM-Proof"),
		"idempotency_key": header.Get("Idempotency-Key"),
	} {
		if value != "" {
			params[name] = value
		}
	}
	return strictjson.Append(nil, map[string]any{"action": action, "params": params})
}

// Read converts m, the response to a request with this action, to the response of the UIM endpoint. Errors wrap ErrAnswer.
func (MRP) Read(action string, m wire.Message) (fetch.Answer, error) {
	a := fetch.Answer{Status: http.StatusOK, Header: http.Header{}}
	tree, err := strictjson.DecodeObject(m.Body)
	if err != nil || m.ContentType != wire.TypeResponse {
		return fetch.Answer{}, wrong("the message is not a response")
	}
	switch result := tree.Object("result"); {
	case tree.Text("status") == wire.ResponseError && isError(tree):
		return readMRPError(a, tree.Object("error"))
	case tree.Text("status") != wire.ResponseOK || result == nil:
		return fetch.Answer{}, wrong("the response has no result")
	case action == ActionExecute:
		return readMRPResult(a, m.Body, result)
	default:
		return readMRPAgreed(a, result)
	}
}

func readMRPResult(a fetch.Answer, text []byte, result strictjson.Object) (fetch.Answer, error) {
	output, ok := strictjson.Find(text, "/result/output")
	if !ok {
		return fetch.Answer{}, wrong("the result has no output")
	}
	return doneBeside(a, output, result), nil
}

func readMRPAgreed(a fetch.Answer, result strictjson.Object) (fetch.Answer, error) {
	until, err := time.Parse(time.RFC3339, result.Text("expires_at"))
	if err != nil {
		return fetch.Answer{}, wrong("the response lacks the time at which the PAT expires")
	}
	return agreed(a, result, until)
}

// readMRPError reads an error. Its code is a reason in lowercase.
func readMRPError(a fetch.Answer, fault strictjson.Object) (fetch.Answer, error) {
	details := fault.Object("details")
	if details.Text("status") == "pending" { // the operator must first approve the agent
		return pending(a, details)
	}
	if details == nil {
		details = strictjson.Object{}
	}
	if details.Text("reason") == "" {
		details["reason"] = strings.ToUpper(fault.Text("code"))
	}
	inner := map[string]any{"message": fault.Text("message"), "details": map[string]any(details)}
	return refused(a, strictjson.Object{"error": inner}, http.StatusBadRequest)
}
