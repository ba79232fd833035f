// Package via encodes the call to an intent as a message of another protocol, and decodes the response into the one that the service's
// execute endpoint would have sent. One parser therefore serves all protocols. It sends nothing itself, and does not trust the responses.
package via

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// ErrAnswer means that the response does not conform to the protocol or does not belong to the message: the outcome of the call is
// unknown. The text of the error does not quote the response.
var ErrAnswer = errors.New("invalid response")

// A Call is one attempt of a call, in the form of the execute endpoint.
type Call struct {
	// ID uniquely identifies the message: 1 to 124 visible ASCII characters.
	ID         string
	UID        string         // the uid of the intent
	Tool       string         // the intent's tool name
	Parameters map[string]any // decoded by package strictjson
	Body       []byte         // for the execute endpoint: {"intent_uid": …, "parameters": …}
	// Header contains Authorization and, if the call has them, Idempotency-Key, UIM-Proof, UIM-Request-ID and Traceparent. Message
	// does not modify it.
	Header http.Header
}

// A Message is an encoded call that is ready to be posted to URL.
type Message struct {
	URL    string
	Header http.Header
	Body   []byte
}

// A Door encodes calls for one protocol of a service, and decodes the responses.
type Door interface {
	// Message encodes a call. It returns an error if the call contains a value that the protocol cannot represent.
	Message(c Call) (Message, error)
	// Read decodes the response to the message with this id into a response of the execute endpoint. Errors wrap ErrAnswer.
	Read(id string, a fetch.Answer) (fetch.Answer, error)
}

func wrong(what string) error { return fmt.Errorf("%w: %s", ErrAnswer, what) }

// maxBlocks limits how many parts of a response are read.
const maxBlocks = 64

// done returns the response of the execute endpoint with the given output, which must be JSON.
func done(a fetch.Answer, output []byte) fetch.Answer {
	return answer(a, http.StatusOK, output)
}

func answer(a fetch.Answer, status int, body []byte) fetch.Answer {
	h := a.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set("Content-Type", "application/json")
	return fetch.Answer{Status: status, Header: h, Body: body, URL: a.URL}
}

// codes maps each error code to its HTTP status. If the reasons of a code have several statuses, it is the lowest.
var codes = func() map[string]int {
	out := map[string]int{}
	for _, r := range reason.All() {
		if _, known := out[string(r.Code())]; !known {
			out[string(r.Code())] = r.Status()
		}
	}
	return out
}()

// refused returns the response with a UIM error: {"error": {"code": …, "message": …, "details": {…}}}. The status is that of the
// reason, unless the code contradicts the reason; then it is that of the code. If neither is known, the status is the argument usual.
func refused(a fetch.Answer, tree strictjson.Object, usual int) (fetch.Answer, error) {
	inner := tree.Object("error")
	status, known := codes[inner.Text("code")]
	cause := reason.Reason(inner.Object("details").Text("reason"))
	if cause.Known() && (!known || string(cause.Code()) == inner.Text("code")) {
		status, known = cause.Status(), true
	}
	if !known {
		status = usual
	}
	body, err := strictjson.Append(nil, map[string]any{"error": map[string]any(inner)})
	if err != nil {
		return fetch.Answer{}, wrong("the error cannot be encoded")
	}
	return answer(a, status, body), nil
}

// refusedWith returns the response with an error for which the protocol gives only a message. An empty outcome means that the call was not
// executed.
func refusedWith(a fetch.Answer, status int, message, outcome string) (fetch.Answer, error) {
	details := map[string]any{}
	if outcome != "" {
		details["outcome"] = outcome
	}
	return refused(a, strictjson.Object{"error": map[string]any{"message": message, "details": details}}, status)
}

// isError reports whether an object is a UIM error.
func isError(tree strictjson.Object) bool { return tree.Object("error") != nil }

// beside adds a member of a message to the header of a response, unless the header already has a field with this name.
func beside(a fetch.Answer, name string, values ...string) {
	if name = http.CanonicalHeaderKey(name); len(a.Header[name]) == 0 && len(values) > 0 {
		a.Header[name] = values
	}
}
