package via

import (
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// Extension is the URI of the A2A extension for the proofs, charges, limits and errors of UIM.
const Extension = "https://uimprotocol.com/a2a/v1"

// A2A encodes calls for an A2A 1.0 agent.
type A2A struct {
	URL  string // the URL of the interface
	REST bool   // whether the interface uses HTTP+JSON instead of JSON-RPC
}

const proofField = "UIM-Proof"

// Message encodes a SendMessage request. The idempotency key remains a header field; without one, the id of the message is the key.
// A2A 1.0, 3.2.1.
func (d A2A) Message(c Call) (Message, error) {
	h := c.Header.Clone()
	proof := h.Get(proofField)
	h.Del(proofField)
	params := func(w *strictjson.Writer) {
		w.Append("message", func(out []byte) ([]byte, error) { return appendMessage(out, c, proof) })
		w.Object("configuration", map[string]any{"acceptedOutputModes": []any{"application/json"}})
	}
	h.Set("A2A-Version", "1.0")
	h.Set("A2A-Extensions", Extension)
	if d.REST {
		h.Set("Content-Type", "application/a2a+json")
		h.Set("Accept", "application/a2a+json, application/json")
		w := strictjson.NewWriter(nil)
		params(&w)
		body, err := w.End()
		return Message{URL: d.URL + "/message:send", Header: h, Body: body}, err
	}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json")
	body, err := request(c.ID, "SendMessage", params)
	return Message{URL: d.URL, Header: h, Body: body}, err
}

// appendMessage appends the message. Its only part contains the body for the execute endpoint. A2A 1.0, 4.1.4.
func appendMessage(out []byte, c Call, proof string) ([]byte, error) {
	w := strictjson.NewWriter(out)
	w.Text("messageId", c.ID)
	w.Text("role", "ROLE_USER")
	w.Append("parts", func(out []byte) ([]byte, error) {
		part := strictjson.NewWriter(append(out, '['))
		part.JSON("data", c.Body)
		part.Text("mediaType", "application/json")
		out, err := part.End()
		return append(out, ']'), err
	})
	w.Texts("extensions", []string{Extension})
	if proof != "" {
		w.Object("metadata", map[string]any{Extension: map[string]any{"proof": proof}})
	}
	return w.End()
}

// Read reads the task in the response, or the error. A2A 1.0, 3.1.1, 9.5 and 11.6.
func (d A2A) Read(id string, a fetch.Answer) (fetch.Answer, error) {
	if d.REST {
		return readREST(a)
	}
	r, ok, err := readResponse(a.Body, id)
	switch {
	case !ok:
		return foreign(a)
	case err != nil:
		return fetch.Answer{}, err
	case r.failed != nil:
		return readFault(a, r.failed, r.failed.List("data"))
	case a.Status/100 != 2:
		return foreign(a)
	}
	return readTask(a, r.text, "/result/task", r.result)
}

func readREST(a fetch.Answer) (fetch.Answer, error) {
	tree, err := strictjson.DecodeObject(a.Body)
	if err != nil {
		return foreign(a)
	}
	if a.Status/100 == 2 {
		return readTask(a, a.Body, "/task", tree)
	}
	failed := tree.Object("error")
	if details, isList := failed["details"].([]any); isList {
		return readFault(a, failed, details)
	}
	return foreign(a)
}

// Types of the entries in the details of an error. ProtoJSON, Any.
const (
	structType    = "type.googleapis.com/google.protobuf.Struct"
	errorInfoType = "type.googleapis.com/google.rpc.ErrorInfo"
)

// readFault reads an error of the protocol: the UIM error in its details or, if there is none, its reason and message.
func readFault(a fetch.Answer, failed strictjson.Object, details []any) (fetch.Answer, error) {
	status, cause := statusOf(a.Status, failed), ""
	for _, v := range details[:min(len(details), maxBlocks)] {
		detail, _ := strictjson.AsObject(v)
		switch detail.Text("@type") {
		case structType:
			if reply := detail.Object("value"); isError(reply) {
				return refused(a, reply, status)
			}
		case errorInfoType:
			if detail.Text("domain") != "a2a-protocol.org" {
				cause = detail.Text("reason")
			}
		}
	}
	return refused(a, strictjson.Object{"error": map[string]any{
		"message": failed.Text("message"), "details": map[string]any{"reason": cause},
	}}, status)
}

// readTask reads the response to a message. at is the pointer to the task in the document. A2A 1.0, 4.1.1.
func readTask(a fetch.Answer, document []byte, at string, result strictjson.Object) (fetch.Answer, error) {
	task := result.Object("task")
	if _, both := result["message"]; both || task == nil {
		return fetch.Answer{}, wrong("the response is not a task")
	}
	state, isState := strings.CutPrefix(task.Object("status").Text("state"), "TASK_STATE_")
	if !isState {
		return fetch.Answer{}, wrong("the task has no state")
	}
	reply := task.Object("status").Object("message")
	artifacts := task.List("artifacts")
	if state == "COMPLETED" && len(artifacts) == 1 {
		return readArtifact(a, document, at+"/artifacts/0", artifacts[0])
	}
	for _, v := range partsOf(reply) {
		if tree := v.Object("data"); isError(tree) {
			out, err := refused(a, tree, http.StatusInternalServerError)
			if err == nil {
				besideTask(out, reply)
			}
			return out, err
		}
	}
	var texts []string
	for _, v := range partsOf(reply) {
		if text := v.Text("text"); text != "" {
			texts = append(texts, text)
		}
	}
	words := strings.Join(texts, " ")
	switch state {
	case "SUBMITTED", "WORKING":
		const again = "1" // in seconds, as the execute endpoint sends it
		running := reason.IdempotencyInProgress
		out, err := refused(a, strictjson.Object{"error": map[string]any{
			"code": string(running.Code()), "message": running.Message(), "details": map[string]any{
				"reason": string(running), "suggestion": running.Suggestion(),
			},
		}}, running.Status())
		if err == nil {
			beside(out, "Retry-After", again)
		}
		return out, err
	case "REJECTED":
		return refusedWith(a, http.StatusForbidden, words, "")
	case "FAILED", "CANCELED":
		return refusedWith(a, http.StatusInternalServerError, words, "unknown")
	}
	return fetch.Answer{}, wrong("the task has an unexpected state, or not exactly one artifact")
}

func partsOf(message strictjson.Object) []strictjson.Object {
	list := message.List("parts")
	out := make([]strictjson.Object, 0, maxBlocks)
	for _, v := range list[:min(len(list), maxBlocks)] {
		part, _ := strictjson.AsObject(v)
		out = append(out, part)
	}
	return out
}

// readArtifact reads the output of a call.
func readArtifact(a fetch.Answer, document []byte, at string, v any) (fetch.Answer, error) {
	artifact, _ := strictjson.AsObject(v)
	output, ok := strictjson.Find(document, at+"/parts/0/data")
	if !ok || len(artifact.List("parts")) != 1 {
		return fetch.Answer{}, wrong("the artifact does not have exactly one data part")
	}
	out := done(a, output)
	besideTask(out, artifact)
	return out, nil
}

// besideTask adds to the header of a response the members of the UIM extension in the metadata of a message or an artifact.
func besideTask(out fetch.Answer, of strictjson.Object) {
	about := of.Object("metadata").Object(Extension)
	if c := about.Object("charge"); c != nil {
		beside(out, "UIM-Charge", c.Text("amount")+" "+c.Text("currency")+"; id="+c.Text("id")+"; state="+c.Text("state"))
	}
	if limit := about.Object("rate_limit"); limit != nil && len(out.Header["Ratelimit"]) == 0 {
		beside(out, "RateLimit-Remaining", limit.Number("remaining").String())
		beside(out, "RateLimit-Reset", limit.Number("reset").String())
	}
	if receipt := about.Text("receipt"); receipt != "" {
		beside(out, "UIM-Receipt", receipt)
	}
	if id := about.Text("request_id"); id != "" {
		beside(out, "UIM-Request-ID", id)
	}
	if about.Flag("replayed") {
		beside(out, "Idempotency-Replayed", "true")
	}
}
