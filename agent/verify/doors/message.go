package doors

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// Codes of errors. JSON-RPC 2.0 5.1; A2A 1.0 5.4.
const (
	invalidParams       = -32602
	taskNotFound        = -32001
	versionNotSupported = -32009
)

// A reply is the response to a message.
type reply struct {
	fetch.Answer
	result strictjson.Object // nil if there is none
	failed *failure
	odd    string // why it is not the response to the message; empty if it is
}

// A failure is a JSON-RPC error.
type failure struct {
	code int64
	tree strictjson.Object
}

// send sends a JSON-RPC message and reads the response. The error is that of the exchange.
func (d *Doors) send(ctx context.Context, address string, h http.Header, method string, params map[string]any) (reply, error) {
	d.sent++
	id := "uimgate-verify-" + strconv.Itoa(d.sent)
	message := map[string]any{"jsonrpc": "2.0", "id": id, "method": method}
	if params != nil {
		message["params"] = params
	}
	body, err := json.Marshal(message)
	if err != nil {
		return reply{}, fmt.Errorf("encoding the message: %w", err)
	}
	h.Set("Content-Type", "application/json")
	a, err := d.ask(ctx, http.MethodPost, address, h, body)
	if err != nil {
		return reply{}, err
	}
	r := reply{Answer: a}
	r.read(id)
	return r, nil
}

// read finds the response to a message: the body, or one event of a stream. See JSON-RPC 2.0, section 5.
func (r *reply) read(id string) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil:
		r.odd = "it has no media type"
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		r.odd = r.take(r.Body, id)
	case kind == "text/event-stream":
		r.odd = "no event of the stream is the response"
		for _, event := range fetch.Events(r.Body) {
			if r.odd = r.take(event, id); r.odd == "" {
				return
			}
		}
	default:
		r.odd = "it is " + kind + ", not JSON"
	}
}

// take reads one message. It returns why the message is not the response, or "" if it is.
func (r *reply) take(data []byte, id string) string {
	tree, err := strictjson.DecodeObject(data)
	if err != nil {
		return "it is not a JSON object"
	}
	result, is := strictjson.AsObject(tree["result"])
	inner, failed := strictjson.AsObject(tree["error"])
	switch {
	case tree["jsonrpc"] != "2.0":
		return "it is not a JSON-RPC 2.0 message"
	case tree["id"] != id && (tree["id"] != nil || !failed || tree["error"] == nil):
		return "its id is not the one that was sent"
	case tree.Has("result") == tree.Has("error"):
		return "it does not have either result or error"
	case tree["result"] != nil && is:
		r.result = result
		return ""
	case tree["error"] != nil && failed:
		code, err := inner.Number("code").Int64()
		if _, isText := inner["message"].(string); err != nil || !isText {
			return "its error does not have a code and a message"
		}
		r.failed = &failure{code, inner}
		return ""
	}
	return "its result or error is not an object"
}

// answered returns the finding for a reply that should have a result.
func (r *reply) answered() point.Finding {
	switch {
	case r.result != nil:
		return point.Pass
	case r.Status == http.StatusUnauthorized:
		return point.Wrong.Because("the PAT is not accepted")
	case r.failed != nil:
		return point.Wrong.Because("the response is the error %d", r.failed.code)
	case r.Status >= http.StatusInternalServerError:
		return point.ServerError(r.Answer)
	case r.Status/100 != 2:
		return point.Wrong.Because("the response is %d", r.Status)
	}
	return point.Wrong.Because("the response is invalid: %s", r.odd)
}

// reasonIn returns the reason in a UIM error body: details.reason, or code. It is empty if there is none.
func reasonIn(tree strictjson.Object) string {
	inner := tree.Object("error")
	if reason := inner.Object("details").Text("reason"); reason != "" {
		return reason
	}
	return inner.Text("code")
}

// reason returns the reason of the refusal over HTTP.
func (c *Call) reason() string {
	tree, err := strictjson.DecodeObject(c.Answer.Body)
	if err != nil {
		return ""
	}
	return reasonIn(tree)
}
