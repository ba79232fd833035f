package via

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// UAgents encodes calls for an agent of the uAgents protocol. All requests to the service are signed envelopes, including
// agreements and renewals. The service must sign its responses.
type UAgents struct {
	URL     string           // the URL of the endpoint
	Service identity.Address // address of the service, whose key signs the responses
	Key     identity.Key     // the key of the agent
	Now     func() time.Time
}

// sentFor is the lifetime of a sent envelope: the response to it arrives on the same connection.
const sentFor = time.Minute

// Message encodes a UIMExecute message. The id of the call becomes the id of the session, so it must be a version 4 UUID.
func (d UAgents) Message(c Call) (Message, error) {
	token := strings.TrimPrefix(c.Header.Get("Authorization"), "Bearer ")
	m, err := d.message(c.ID, "UIMExecute", map[string]any{
		"intent_uid": c.UID, "parameters": c.Parameters, "pat": orNull(token), "idempotency_key": orNull(c.Header.Get("Idempotency-Key")),
	})
	if err != nil {
		return Message{}, err
	}
	for _, name := range []string{"Uim-Request-Id", "Traceparent"} {
		if value := c.Header.Get(name); value != "" {
			m.Header.Set(name, value)
		}
	}
	return m, nil
}

// Agreement encodes a UIMAgree message or, with a plan, a UIMAgreeToPlan message: its signed envelope is the agreement. scope may be nil.
func (d UAgents) Agreement(id, policyDigest, issuer, plan string, scope []string) (Message, error) {
	var list any
	if scope != nil {
		entries := make([]any, 0, len(scope))
		for _, entry := range scope {
			entries = append(entries, entry)
		}
		list = entries
	}
	members := map[string]any{"policy_digest": policyDigest, "issuer": issuer, "scope": list}
	if plan == "" {
		return d.message(id, "UIMAgree", members)
	}
	members["plan"] = plan
	return d.message(id, "UIMAgreeToPlan", members)
}

// Renewal encodes a UIMRenew message.
func (d UAgents) Renewal(id, token string) (Message, error) {
	return d.message(id, "UIMRenew", map[string]any{"pat": token})
}

func (d UAgents) message(id, model string, members map[string]any) (Message, error) {
	session, err := envelope.ParseSession(id)
	if err != nil {
		return Message{}, err
	}
	text, err := strictjson.Append(nil, members)
	if err != nil {
		return Message{}, err
	}
	until := uint64(d.Now().Add(sentFor).Unix())
	body, err := json.Marshal(envelope.Envelope{
		Target: d.Service, Session: session, SchemaDigest: protocol.Standard(model).Digest, ProtocolDigest: protocol.UIM().Digest,
		Payload: envelope.Pack(text), Expires: &until,
	}.Sign(d.Key))
	return Message{
		URL: d.URL, Body: body, Header: http.Header{"Content-Type": {"application/json"}, "X-Uagents-Connection": {"sync"}},
	}, err
}

// Read reads the envelope that responds in the session with this id. It converts UIMAgreed to a response of the issue endpoint.
func (d UAgents) Read(id string, a fetch.Answer) (fetch.Answer, error) {
	if a.Status/100 != 2 {
		return readRejected(a)
	}
	e, err := envelope.Parse(a.Body)
	switch {
	case err != nil:
		return fetch.Answer{}, wrong("the body is not an envelope")
	case e.Verify() != nil:
		return fetch.Answer{}, wrong("no agent's key signed the envelope")
	case e.Sender != d.Service || e.Target != d.Key.Address() || string(e.Session) != id:
		return fetch.Answer{}, wrong("the envelope is from another agent, for another agent, or in another session")
	case e.Timely(d.Now()) != nil:
		return fetch.Answer{}, wrong("the envelope has expired")
	}
	text, err := e.Message()
	if err != nil {
		return fetch.Answer{}, wrong("the envelope contains no message")
	}
	tree, err := strictjson.DecodeObject(text)
	if err != nil {
		return fetch.Answer{}, wrong("the message is not a JSON object")
	}
	switch name, _ := protocol.NameOf(e.SchemaDigest); name {
	case "UIMResult":
		return readUIMResult(a, text, tree)
	case "UIMAgreed":
		return readUIMAgreed(a, tree)
	case "UIMFault":
		return readUIMFault(a, tree)
	case "ErrorMessage":
		return refusedWith(a, http.StatusBadRequest, tree.Text("error"), "")
	}
	return fetch.Answer{}, wrong("the message has an unexpected type")
}

// readRejected reads a response that is not an envelope, because the sent envelope was rejected.
func readRejected(a fetch.Answer) (fetch.Answer, error) {
	tree, err := strictjson.DecodeObject(a.Body)
	if err != nil || tree.Text("error") == "" {
		return foreign(a)
	}
	return refusedWith(a, a.Status, strings.TrimSpace(tree.Text("error")+". "+tree.Text("detail")), "")
}

func readUIMResult(a fetch.Answer, text []byte, tree strictjson.Object) (fetch.Answer, error) {
	output, ok := strictjson.Find(text, "/output")
	if !ok || tree.Object("output") == nil {
		return fetch.Answer{}, wrong("the result has no output")
	}
	return doneBeside(a, output, tree), nil
}

func readUIMAgreed(a fetch.Answer, tree strictjson.Object) (fetch.Answer, error) {
	expires, err := strconv.ParseInt(tree.Number("expires_at").String(), 10, 64)
	if err != nil {
		return fetch.Answer{}, wrong("the response lacks the time at which the PAT expires")
	}
	return agreed(a, tree, time.Unix(expires, 0))
}

func readUIMFault(a fetch.Answer, tree strictjson.Object) (fetch.Answer, error) {
	details := tree.Object("details")
	if details.Text("status") == "pending" { // the operator must first approve the agent
		return pending(a, details)
	}
	return refused(a, strictjson.Object{"error": map[string]any{
		"code": tree.Text("code"), "message": tree.Text("message"), "details": map[string]any(details),
	}}, http.StatusInternalServerError)
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
