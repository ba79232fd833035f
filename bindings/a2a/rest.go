package a2a

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
)

// restOperation returns the operation for a method and a path below the base URL, the task id in the path, and the route for logs. name is
// "" if the path is unknown or does not support the method; route is "/*" if the path is unknown. A2A 1.0, 5.3 and 11.3.
func restOperation(method, path string) (name, task, route string) {
	by := func(names map[string]string) string { return names[method] }
	switch path {
	case "/message:send":
		return by(map[string]string{http.MethodPost: "SendMessage"}), "", path
	case "/message:stream":
		return by(map[string]string{http.MethodPost: "SendStreamingMessage"}), "", path
	case "/tasks":
		return by(map[string]string{http.MethodGet: "ListTasks"}), "", path
	case "/extendedAgentCard":
		return by(map[string]string{http.MethodGet: "GetExtendedAgentCard"}), "", path
	}
	below, ok := strings.CutPrefix(path, "/tasks/")
	if !ok || below == "" {
		return "", "", "/*"
	}
	task, rest, deeper := strings.Cut(below, "/")
	if deeper {
		config, one := strings.CutPrefix(rest, "pushNotificationConfigs/")
		switch {
		case rest == "pushNotificationConfigs":
			return by(map[string]string{
				http.MethodPost: "CreateTaskPushNotificationConfig", http.MethodGet: "ListTaskPushNotificationConfigs",
			}), task, "/tasks/:id/pushNotificationConfigs"
		case one && config != "" && !strings.Contains(config, "/"):
			return by(map[string]string{
				http.MethodGet: "GetTaskPushNotificationConfig", http.MethodDelete: "DeleteTaskPushNotificationConfig",
			}), task, "/tasks/:id/pushNotificationConfigs/:config"
		}
		return "", "", "/*"
	}
	if id, ok := strings.CutSuffix(task, ":cancel"); ok {
		return by(map[string]string{http.MethodPost: "CancelTask"}), id, "/tasks/:id:cancel"
	}
	if id, ok := strings.CutSuffix(task, ":subscribe"); ok { // the A2A specification defines POST, its proto file GET
		return by(map[string]string{http.MethodPost: "SubscribeToTask", http.MethodGet: "SubscribeToTask"}), id, "/tasks/:id:subscribe"
	}
	return by(map[string]string{http.MethodGet: "GetTask"}), task, "/tasks/:id"
}

// routed returns the operation of a request, and stores the task id in its path in x.params. If there is no operation, it returns a fault,
// and sets the Allow header if the path supports other methods.
func (x *exchange) routed(path string) (name string, fail *fault) {
	name, task, route := restOperation(x.r.Method, path)
	switch {
	case route == "/*":
		return "", faultOf(reason.NoSuchPath.Refusal("A2A 1.0 has no such path."))
	case name == "":
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			if other, _, _ := restOperation(method, path); other != "" {
				x.w.Header().Add("Allow", method)
			}
		}
		return "", faultOf(reason.MethodNotAllowed.Refusal(""))
	}
	if task != "" {
		x.params["id"] = task
	}
	return name, nil
}

// numbers and flags are the query parameters that are not strings.
var (
	numbers = []string{"historyLength", "pageSize"}
	flags   = []string{"includeArtifacts"}
)

// readREST reads the parameters that are not in the path: from the body if the operation sends a message, otherwise from the query. If
// they are malformed, it responds and returns false.
func (x *exchange) readREST(name string) bool {
	if !operations[name].sends {
		return x.readQuery()
	}
	data, err := wire.ReadJSON(x.r, x.Service.MaxBody, mediaType)
	if err != nil {
		x.refuse(refusalOf(execute.Unsent(err)))
		return false
	}
	x.params, err = strictjson.DecodeObjectOf(data, wire.MaxValues)
	if err != nil {
		x.refuse(wire.Malformed(err))
		return false
	}
	return true
}

func (x *exchange) readQuery() bool {
	query, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		x.refuse(reason.MalformedRequest.Refusal("The query of the URL is malformed."))
		return false
	}
	for name, values := range query {
		if name != versionKey && name != "id" && len(values) == 1 && values[0] != "" {
			x.params[name] = values[0]
		}
	}
	for _, name := range numbers {
		if text, sent := x.params[name].(string); sent {
			if n, err := strconv.ParseInt(text, 10, 32); err == nil {
				x.params[name] = json.Number(strconv.FormatInt(n, 10))
			}
		}
	}
	for _, name := range flags {
		if text, sent := x.params[name].(string); sent {
			if is, err := strconv.ParseBool(text); err == nil {
				x.params[name] = is
			}
		}
	}
	return true
}

// restStatus returns the HTTP status of an error.
func (x *exchange) restStatus(f *fault) int {
	switch {
	case f.status != 0:
		return f.status
	case f.code == jsonrpc.InternalError:
		return http.StatusInternalServerError
	case f.code == jsonrpc.MethodNotFound:
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

// genericStatus and genericCode name the errors that A2A does not define itself, by HTTP status and by JSON-RPC code.
var (
	genericStatus = map[int]string{http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusForbidden: "UNAUTHORIZED"}
	genericCode   = map[int]string{
		jsonrpc.ParseError: "PARSE_ERROR", jsonrpc.InvalidRequest: "INVALID_REQUEST", jsonrpc.MethodNotFound: "METHOD_NOT_FOUND",
		jsonrpc.InvalidParams: "INVALID_PARAMS", jsonrpc.InternalError: "INTERNAL_ERROR",
	}
)

// restError returns the body of an error. A2A 1.0, 11.6.
func (x *exchange) restError(f *fault) []byte {
	status := x.restStatus(f)
	name := reason.Canonical(status)
	if status == http.StatusBadRequest && f.reason != "" && f.reason != contentType.reason {
		name = "FAILED_PRECONDITION"
	}
	w := strictjson.NewWriter([]byte(`{"error":`))
	w.JSON("code", strconv.AppendInt(nil, int64(status), 10))
	w.Text("status", name)
	w.Text("message", f.message)
	w.Append("details", func(out []byte) ([]byte, error) { return f.details(out, x) })
	body, err := w.End()
	if err != nil { // send a constant body
		return []byte(`{"error":{"code":500,"status":"INTERNAL","message":"The response could not be encoded.","details":[]}}`)
	}
	return append(body, '}')
}
