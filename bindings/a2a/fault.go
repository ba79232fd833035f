package a2a

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
)

// A fault is an error of the protocol. Both bindings can encode it. A2A 1.0, 5.4.
type fault struct {
	code    int    // JSON-RPC error code
	status  int    // HTTP+JSON status; 0: derived from code
	reason  string // the reason in ErrorInfo if A2A defines the error; otherwise empty
	message string
	refusal *reason.Refusal // the cause, if the gateway refused the request; otherwise nil
	fields  []violation     // the invalid members of the request
}

// A violation is one invalid member of a request: google.rpc.BadRequest.FieldViolation.
type violation struct{ pointer, message string }

// The errors of A2A 1.0, 5.4.
var (
	taskNotFound     = &fault{code: -32001, status: http.StatusNotFound, reason: "TASK_NOT_FOUND", message: "There is no such task."}
	taskNotCancelled = &fault{
		code: -32002, status: http.StatusBadRequest, reason: "TASK_NOT_CANCELABLE",
		message: "A task cannot be cancelled once it has started.",
	}
	pushNotSupported = &fault{
		code: -32003, status: http.StatusBadRequest, reason: "PUSH_NOTIFICATION_NOT_SUPPORTED",
		message: "Push notifications are not supported: use a stream, or call GetTask.",
	}
	unsupported = &fault{code: -32004, status: http.StatusBadRequest, reason: "UNSUPPORTED_OPERATION"}
	contentType = &fault{code: -32005, status: http.StatusBadRequest, reason: "CONTENT_TYPE_NOT_SUPPORTED"}

	versionNotSupported = &fault{code: -32009, status: http.StatusBadRequest, reason: "VERSION_NOT_SUPPORTED"}
)

// because returns a copy of the error with another message.
func (f *fault) because(message string) *fault {
	other := *f
	other.message = message
	return &other
}

// wrongMember returns the error for an invalid member of a request. what is the predicate of its message, such as "must be a string".
func wrongMember(pointer, what string) *fault {
	return &fault{
		code: jsonrpc.InvalidParams, message: "The member at " + pointer + " " + what + ".", fields: []violation{{pointer, what}},
	}
}

// refusalOf returns the refusal for an error, or nil if err is nil.
func refusalOf(err error) *reason.Refusal {
	if err == nil {
		return nil
	}
	return refusal.For(err)
}

// faultOf converts a refusal into an error of the protocol.
func faultOf(f *reason.Refusal) *fault {
	out := &fault{code: jsonrpc.InvalidRequest, status: f.Status(), message: refusal.Sentence(f), refusal: f}
	switch f.Code {
	case reason.CodeUnsupportedMediaType:
		out.code, out.status, out.reason = contentType.code, contentType.status, contentType.reason
	case reason.CodeInvalidParameter, reason.CodeInvalidSignature, reason.CodeVersionConflict, reason.CodeIntentDeprecated:
		out.code, out.status = jsonrpc.InvalidParams, http.StatusBadRequest
	case reason.CodeNotFound:
		if f.Reason != reason.NoSuchPath {
			out.code, out.status = jsonrpc.InvalidParams, http.StatusBadRequest
		}
	case reason.CodeConflict:
		if f.Reason == reason.IdempotencyKeyReused {
			out.code = jsonrpc.InvalidParams
		}
	default:
		if f.Status() >= http.StatusInternalServerError {
			out.code = jsonrpc.InternalError
		}
	}
	if out.code == jsonrpc.InvalidParams {
		out.fields = violationsOf(f)
	}
	return out
}

// violationsOf lists the invalid parameters. Their pointers are relative to the data of the message.
func violationsOf(f *reason.Refusal) []violation {
	var list []violation
	for _, v := range refusal.Violations(f) {
		list = append(list, violation{v.Pointer, v.Message})
	}
	if pointer, ok := f.Details["pointer"].(string); ok && list == nil {
		list = []violation{{pointer, f.Message}}
	}
	return list
}

// refuse responds with a refusal as an error of the protocol.
func (x *exchange) refuse(f *reason.Refusal) { x.fail(faultOf(f)) }

// fail responds with an error. With JSON-RPC, the HTTP status is 200, except for errors whose HTTP status clients and proxies act on.
// Such errors are not sent as a stream.
func (x *exchange) fail(f *fault) {
	h := x.w.Header()
	status := http.StatusOK
	if f.refusal == nil {
		if f.reason == "" {
			x.Refusal = reason.MalformedRequest.Refusal(f.message)
		}
	} else {
		x.Refusal = f.refusal
		wire.WriteHeader(h, f.refusal, x.Service.Issuer)
		if challenge := door.Challenge(x.Service.Definition, SettingsOf(x.Service.Definition).Path, f.refusal); challenge != "" {
			h["Www-Authenticate"] = []string{challenge}
		}
		switch f.refusal.Status() {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusRequestTimeout,
			http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable:
			status = f.refusal.Status()
		}
	}
	if x.rest {
		x.write(x.restStatus(f), jsonType, x.restError(f))
		return
	}
	data, _ := f.details(nil, x) // strings can always be encoded
	body := jsonrpc.AppendError(nil, x.id, &jsonrpc.Error{Code: f.code, Message: f.message, Data: data})
	if x.stream && status == http.StatusOK { // streaming clients silently drop other responses
		x.open().event(body)
		return
	}
	x.write(status, jsonType, body)
}

const (
	errorInfo   = "type.googleapis.com/google.rpc.ErrorInfo"
	badRequest  = "type.googleapis.com/google.rpc.BadRequest"
	protoStruct = "type.googleapis.com/google.protobuf.Struct"
	ofA2A       = "a2a-protocol.org"
)

// details appends the JSON list of details of an error to out. A2A 1.0, 9.5 and 11.6. The first ErrorInfo has the domain of A2A, because
// some official clients read the metadata only under that domain. The second has the same metadata, because one client reads only the
// last ErrorInfo.
func (f *fault) details(out []byte, x *exchange) ([]byte, error) {
	first := map[string]any{
		"@type": errorInfo, "domain": ofA2A, "reason": cmp.Or(f.reason, genericStatus[x.restStatus(f)], genericCode[f.code]),
	}
	list := []any{first}
	if r := f.refusal; r != nil {
		metadata := x.metadata(r)
		first["metadata"] = metadata
		list = append(list, map[string]any{
			"@type": errorInfo, "reason": string(r.Reason), "domain": x.Service.Issuer, "metadata": metadata,
		})
		if x.extended { // add the complete UIM error
			reply, err := strictjson.DecodeObject(wire.Envelope(r, x.About(r)))
			if err != nil {
				return out, err
			}
			list = append(list, map[string]any{"@type": protoStruct, "value": map[string]any(reply)})
		}
	}
	if len(f.fields) > 0 {
		fields := make([]any, 0, len(f.fields))
		for _, v := range f.fields {
			fields = append(fields, map[string]any{"field": v.pointer, "description": v.message})
		}
		list = append(list, map[string]any{"@type": badRequest, "fieldViolations": fields})
	}
	return strictjson.Append(out, list)
}

// metadata returns the metadata of a refusal for ErrorInfo. All values are strings, as ErrorInfo requires.
func (x *exchange) metadata(r *reason.Refusal) map[string]any {
	m := map[string]any{"request_id": string(x.RequestID), "reason": string(r.Reason)}
	if number := r.Reason.Number(); number != "" {
		m["uim_code"] = number
	}
	if s := r.Suggestion(); s != "" {
		m["suggestion"] = s
	}
	if outcome, present := r.Details["outcome"]; present {
		m["outcome"] = fmt.Sprint(outcome)
	}
	if r.RetryAfter > 0 {
		m["retry_after"] = fmt.Sprint(r.RetrySeconds())
	}
	return m
}

// write sends a response that is not a stream.
func (x *exchange) write(status int, mediaType string, body []byte) {
	x.w.Header()["Content-Type"] = []string{mediaType}
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body)
}

// succeed responds with the result of an operation, which must be JSON.
func (x *exchange) succeed(result []byte) {
	if x.rest {
		x.write(http.StatusOK, mediaType, result)
		return
	}
	x.write(http.StatusOK, jsonType, jsonrpc.AppendResult(make([]byte, 0, len(result)+64), x.id, result))
}
