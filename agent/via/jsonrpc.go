package via

import (
	"net/http"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// request encodes a JSON-RPC request. See JSON-RPC 2.0, section 4.
func request(id, method string, params func(*strictjson.Writer)) ([]byte, error) {
	w := strictjson.NewWriter(nil)
	w.Text("jsonrpc", "2.0")
	w.Text("id", id)
	w.Text("method", method)
	w.Append("params", func(out []byte) ([]byte, error) {
		inner := strictjson.NewWriter(out)
		params(&inner)
		return inner.End()
	})
	return w.End()
}

// A response is a JSON-RPC response. See JSON-RPC 2.0, section 5.
type response struct {
	text   []byte            // the whole document
	result strictjson.Object // nil if the response is an error
	failed strictjson.Object
}

// readResponse reads the response to the request with this id; ok is false if the document is not a JSON-RPC response.
func readResponse(data []byte, id string) (r response, ok bool, err error) {
	tree, decodeErr := strictjson.DecodeObject(data)
	if decodeErr != nil || tree["jsonrpc"] != "2.0" {
		return response{}, false, nil //nolint:nilerr // a proxy in front of the service may have responded
	}
	_, requested := tree["method"]
	_, hasResult := tree["result"]
	_, hasError := tree["error"]
	r = response{text: data, result: tree.Object("result"), failed: tree.Object("error")}
	switch {
	case requested || hasResult == hasError || r.result == nil && r.failed == nil:
		return response{}, true, wrong("the response has neither a result nor an error, or both")
	case tree["id"] == nil && hasError: // the server could not read the id
	case tree["id"] != id:
		return response{}, true, wrong("the response has the id of another request")
	}
	return r, true, nil
}

// foreign handles a response that is not of the protocol. It rejects a 2xx response; any other may come from a proxy in front of
// the service, for example one that limits requests by address, and is returned unchanged.
func foreign(a fetch.Answer) (fetch.Answer, error) {
	if a.Status/100 == 2 {
		return fetch.Answer{}, wrong("the response is not a message of the protocol")
	}
	return a, nil
}

// internalError is the code of an internal error. JSON-RPC 2.0, section 5.1.
const internalError = "-32603"

// statusOf returns the HTTP status that the execute endpoint would send for a JSON-RPC error without a UIM code.
func statusOf(httpStatus int, failed strictjson.Object) int {
	switch {
	case httpStatus/100 != 2:
		return httpStatus
	case failed.Number("code") == internalError || failed.Number("code") == "":
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}
