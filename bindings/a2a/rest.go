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

// restOperation finds the operation of a path below the base URL, and the path's name in logs. Without a method it finds only the path.
// A2A 1.0, 5.3 and 11.3.
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
	if id, ok := strings.CutSuffix(task, ":subscribe"); ok { // the text of A2A specifies POST, its proto GET
		return by(map[string]string{http.MethodPost: "SubscribeToTask", http.MethodGet: "SubscribeToTask"}), id, "/tasks/:id:subscribe"
	}
	return by(map[string]string{http.MethodGet: "GetTask"}), task, "/tasks/:id"
}

// routed finds the operation of a request, and the parameters in its path.
func (x *exchange) routed(path string) (name string, fail *fault) {
	name, task, route := restOperation(x.r.Method, path)
	switch {
	case route == "/*":
		return "", faultOf(reason.NoSuchPath.Refusal("There is no such path of A2A 1.0."))
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

// The parameters of queries that are not strings.
var (
	numbers = []string{"historyLength", "pageSize"}
	flags   = []string{"includeArtifacts"}
)

// readREST reads the parameters of a request in addition to its path: from the body if it sends a message, from the query otherwise.
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
		x.refuse(reason.MalformedRequest.Refusal("The query of the URL cannot be read."))
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

// The names of errors that A2A does not define itself, by status and by JSON-RPC code.
var (
	genericStatus = map[int]string{http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusForbidden: "UNAUTHORIZED"}
	genericCode   = map[int]string{
		jsonrpc.ParseError: "PARSE_ERROR", jsonrpc.InvalidRequest: "INVALID_REQUEST", jsonrpc.MethodNotFound: "METHOD_NOT_FOUND",
		jsonrpc.InvalidParams: "INVALID_PARAMS", jsonrpc.InternalError: "INTERNAL_ERROR",
	}
)

// restError is the body of an error. A2A 1.0, 11.6.
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
	if err != nil { // without our own text
		return []byte(`{"error":{"code":500,"status":"INTERNAL","message":"The answer could not be written.","details":[]}}`)
	}
	return append(body, '}')
}
