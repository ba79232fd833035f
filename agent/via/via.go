// Package via encodes the call of an intent as a message of another protocol of the service, and decodes the response into the one that
// its execute endpoint would have given, so that one reader serves all protocols. It sends nothing, and it does not trust its input.
package via

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// ErrAnswer means that the response does not follow the protocol or does not belong to the message: the outcome of the call is unknown.
// Its text quotes nothing of the response.
var ErrAnswer = errors.New("it is not an answer of the protocol to this call")

// A Call is one attempt of a call, in the form of the execute endpoint.
type Call struct {
	// ID identifies the message, and no other: 1 to 124 visible ASCII characters.
	ID         string
	UID        string         // of the intent
	Tool       string         // the intent's tool name
	Parameters map[string]any // a tree of package strictjson
	Body       []byte         // for the execute endpoint: {"intent_uid": …, "parameters": …}
	// Header has Authorization, and Idempotency-Key, UIM-Proof, UIM-Request-ID and Traceparent if the call has them. It is not modified.
	Header http.Header
}

// A Message is a call as posted to URL.
type Message struct {
	URL    string
	Header http.Header
	Body   []byte
}

// A Door is one protocol of a service.
type Door interface {
	// Message encodes a call. Errors: values that JSON cannot represent.
	Message(c Call) (Message, error)
	// Read decodes the response to the message with this id into a response of the execute endpoint. Errors wrap ErrAnswer.
	Read(id string, a fetch.Answer) (fetch.Answer, error)
}

func wrong(what string) error { return fmt.Errorf("%w: %s", ErrAnswer, what) }

// maxBlocks bounds how many parts of a response are read.
const maxBlocks = 64

// done returns the response with an output, which is JSON.
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

// codes are the HTTP statuses of the error codes, for each the lowest status of its reasons.
var codes = func() map[string]int {
	out := map[string]int{}
	for _, r := range reason.All() {
		if _, known := out[string(r.Code())]; !known {
			out[string(r.Code())] = r.Status()
		}
	}
	return out
}()

// refused makes the response with a UIM error: {"error": {"code": …, "message": …, "details": {…}}}. The status is that of the reason if
// code and reason agree, otherwise that of the code; usual if the code is unknown.
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
		return fetch.Answer{}, wrong("its error cannot be written again")
	}
	return answer(a, status, body), nil
}

// refusedWith makes the response with an error that the protocol gives in words alone. Without an outcome the call was not executed.
func refusedWith(a fetch.Answer, status int, message, outcome string) (fetch.Answer, error) {
	details := map[string]any{}
	if outcome != "" {
		details["outcome"] = outcome
	}
	return refused(a, strictjson.Object{"error": map[string]any{"message": message, "details": details}}, status)
}

// isError reports whether an object is a UIM error.
func isError(tree strictjson.Object) bool { return tree.Object("error") != nil }

// beside adds the members of a message to the header of a response, unless the header has them.
func beside(a fetch.Answer, name string, values ...string) {
	if name = http.CanonicalHeaderKey(name); len(a.Header[name]) == 0 && len(values) > 0 {
		a.Header[name] = values
	}
}
