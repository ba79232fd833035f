package mcp

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
)

// An answer writes the response to one request.
type answer struct {
	http.ResponseWriter
	*request
	stream bool   // send a stream, whose last event is the response
	begun  bool   // the header of the stream has been sent
	fault  string // type of the error in the response, for metrics; empty: none
	// settlement states how the payment that came with the call ended: the SettlementResponse of x402 as JSON. nil: none.
	settlement []byte
	schemed    bool // the called tool has an output schema
}

// write sends a JSON-RPC message: as an event if the stream has begun, or if a.stream is set and the status is 200; otherwise as JSON.
func (a *answer) write(status int, message []byte) {
	h := a.Header()
	if a.begun || a.stream && status == http.StatusOK {
		if !a.begun {
			a.beginStream()
		}
		event := append(make([]byte, 0, len(message)+32), "event: message\n"...)
		_, _ = a.Write(jsonrpc.AppendEvent(event, message)) //nolint:gosec // JSON in an event
		return
	}
	h["Content-Type"] = applicationJSON
	a.WriteHeader(status)
	_, _ = a.Write(message) //nolint:gosec // sent as application/json
}

var applicationJSON = []string{"application/json"}

// result responds with a result, which must be a JSON object.
func (a *answer) result(result []byte) {
	a.write(http.StatusOK, jsonrpc.AppendResult(make([]byte, 0, len(result)+64), a.ID, result))
}

// failed responds with an error.
func (a *answer) failed(status int, e *jsonrpc.Error) {
	a.fault = strconv.Itoa(e.Code)
	a.write(status, jsonrpc.AppendError(nil, a.ID, e))
}

// refused responds with the refusal for an error and the HTTP status of the refusal. If the challenge reports an invalid token, the status
// is 401. It is used before a message has been read, and for refusals whose status clients act on.
func (a *answer) refused(err error) {
	f := refusal.For(err)
	a.Refusal = f
	h := a.Header()
	wire.WriteHeader(h, f, a.Service.Issuer)
	status := f.Status()
	if challenge := door.Challenge(a.Service.Definition, SettingsOf(a.Service.Definition).Path, f); challenge != "" {
		h["Www-Authenticate"] = []string{challenge}
		if strings.Contains(challenge, `"invalid_token"`) {
			status = http.StatusUnauthorized // clients discard their token only then
		}
	}
	a.stream = a.begun
	a.failed(status, &jsonrpc.Error{Code: codeOf(f), Message: refusal.Sentence(f), Data: wire.Envelope(f, a.About(f))})
}

// codeOf returns the JSON-RPC code of a refusal.
func codeOf(f *reason.Refusal) int {
	switch {
	case f.Status() >= http.StatusInternalServerError:
		return jsonrpc.InternalError
	default:
		return jsonrpc.InvalidRequest
	}
}
