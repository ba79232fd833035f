package mcp

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/pool"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// params writes the members of the params of a request.
type params struct {
	out   []byte
	err   error
	empty bool
}

func (b *params) name(name string) {
	if !b.empty {
		b.out = append(b.out, ',')
	}
	b.empty = false
	b.out = strictjson.AppendCanonicalText(b.out, name)
	b.out = append(b.out, ':')
}

func (b *params) text(name, value string) {
	b.name(name)
	b.out = strictjson.AppendCanonicalText(b.out, value)
}

func (b *params) raw(name string, value []byte) {
	b.name(name)
	b.out = append(b.out, value...)
}

func (b *params) tree(name string, value map[string]any) {
	b.name(name)
	out, err := strictjson.Append(b.out, value)
	if err != nil {
		b.err = err
		return
	}
	b.out = out
}

// request returns a request with a new id, or a notification if the method is one of notifications. meta are members of
// _meta in addition to those of the revision. If reported is true, the request asks for notifications about its
// progress, with its id as the token. See MCP 2026-07-28, basic, _meta.
func (s *Server) request(
	in *session, method, name string, meta pool.Fields, reported bool, write func(*params),
) (message, error) {
	id := s.ids.Add(1)
	b := &params{empty: true}
	b.out = append(b.out, `{"jsonrpc":"2.0",`...)
	if !strings.HasPrefix(method, "notifications/") {
		b.out = append(strconv.AppendInt(append(b.out, `"id":`...), id, 10), ',')
	}
	b.out = append(b.out, `"method":`...)
	b.out = append(strictjson.AppendCanonicalText(b.out, method), `,"params":{`...)
	if write != nil {
		write(b)
	}
	tree := map[string]any{}
	for _, f := range meta {
		tree[f.Name] = f.Value
	}
	if reported {
		tree["progressToken"] = json.Number(strconv.FormatInt(id, 10))
	}
	if in.modern() {
		tree[metaPrefix+"protocolVersion"] = in.revision
		tree[metaPrefix+"clientCapabilities"] = map[string]any{}
		tree[metaPrefix+"clientInfo"] = map[string]any{"name": "uimgate", "version": s.cfg.Version}
	}
	if len(tree) > 0 {
		b.tree("_meta", tree)
	}
	b.out = append(b.out, "}}"...)
	return message{id: id, method: method, name: name, body: b.out}, b.err
}

// A response is a message of the server, split into its parts.
type response struct {
	id     string // JSON; empty: none
	method string // empty: the message is a response
	params []byte // nil: none
	result []byte
	err    *Error
}

// readMessage reads a message of the server. It returns false if the message is not one of JSON-RPC.
func readMessage(data []byte) (r response, ok bool) {
	failed := false
	ok = strictjson.Members(data, func(name, value []byte) {
		switch string(name) {
		case "id":
			r.id = string(value)
		case "method":
			r.method, _ = strictjson.Text(value)
		case "params":
			r.params = value
		case "result":
			r.result = value
		case "error":
			r.err, failed = readError(value), true
		}
	})
	return r, ok && (r.method != "" || (r.result != nil) != failed)
}

func readError(data []byte) *Error {
	e := &Error{}
	strictjson.Members(data, func(name, value []byte) {
		switch string(name) {
		case "code":
			e.Code, _ = strconv.ParseInt(string(value), 10, 32)
		case "message":
			e.Message, _ = strictjson.Text(value)
		}
	})
	return e
}

// beginning reports whether part, the beginning of a message, belongs to a response with a result. id is the id of the response. It is
// empty if part does not contain the id before the result.
func beginning(part []byte) (id string, result bool) {
	c := strictjson.Begin(part)
	defer c.End()
	for c.Open('{'); c.Member(); {
		switch string(c.Name()) {
		case "result":
			return id, true
		case "method", "error":
			return "", false
		case "id":
			id = string(c.Value())
		default:
			c.Skip()
		}
	}
	return "", false
}

// answers reports whether the message is the response to the request with this id.
func (r *response) answers(id int64) bool { return r.method == "" && r.id == strconv.FormatInt(id, 10) }

// refusal returns the response to a request of the server: an empty result for ping, and otherwise an error, because this client has
// declared no capabilities.
func (r *response) refusal() []byte {
	out := append([]byte(`{"jsonrpc":"2.0","id":`), r.id...)
	if r.method == "ping" {
		return append(out, `,"result":{}}`...)
	}
	return append(out, `,"error":{"code":-32601,"message":"The client does not offer this method."}}`...)
}
