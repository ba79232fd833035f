package mcp

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
)

// The supported revisions, newest first. Revisions before 2026-07-28 begin with a handshake; for this door, that is the only
// difference.
const (
	revision2026 = "2026-07-28"
	revision2025 = "2025-11-25"
)

var revisions = []string{revision2026, revision2025, "2025-06-18", "2025-03-26"}

// A revision is the protocol revision of one request.
type revision struct {
	name  string // the value of the header; may be empty
	alone bool   // each request is independent, without a handshake
}

// Codes of errors. See MCP 2026-07-28, basic, Error Codes.
const (
	headerMismatch     = -32020
	unsupportedVersion = -32022
)

const (
	metaPrefix       = "io.modelcontextprotocol/"
	metaVersion      = metaPrefix + "protocolVersion"
	metaCapabilities = metaPrefix + "clientCapabilities"
)

func revisionOf(h http.Header) revision {
	name := h.Get("Mcp-Protocol-Version")
	return revision{name: name, alone: name == revision2026}
}

// settle determines the revision of a message. It returns an error if the revision is not supported, or if the headers do not match the
// body. See MCP 2026-07-28, basic/versioning; basic/transports/streamable-http, Server Validation.
func (q *request) settle() *jsonrpc.Error {
	meta := q.meta()
	inBody, stated := meta[metaVersion]
	if stated || q.Method == "server/discover" {
		q.revision.alone = true
	}
	if !q.revision.alone {
		if q.revision.name != "" && !slices.Contains(revisions, q.revision.name) {
			return unsupported(q.revision.name)
		}
		return nil
	}
	if wrong := q.compareHeaders(); wrong != nil {
		return wrong
	}
	if q.IsNotification() || q.Answer {
		return nil
	}
	version, isText := inBody.(string)
	switch {
	case !isText:
		return invalidParams("The member params._meta has no " + metaVersion + ".")
	case version != q.revision.name:
		return mismatch("MCP-Protocol-Version")
	case version != revision2026:
		return unsupported(version)
	}
	if _, isObject := strictjson.AsObject(meta[metaCapabilities]); !isObject {
		return invalidParams("The member params._meta has no " + metaCapabilities + ".")
	}
	return nil
}

// compareHeaders returns an error unless the headers match the members of the body that they repeat.
func (q *request) compareHeaders() *jsonrpc.Error {
	if q.revision.name == "" {
		return mismatch("MCP-Protocol-Version")
	}
	if !slices.Contains(revisions, q.revision.name) {
		return unsupported(q.revision.name)
	}
	if list := q.header["Mcp-Method"]; len(list) != 1 || list[0] != q.Method {
		return mismatch("Mcp-Method")
	}
	name, named := q.Params[methods[q.Method].named].(string)
	list := q.header["Mcp-Name"]
	if named && (len(list) != 1 || decoded(list[0]) != name) {
		return mismatch("Mcp-Name")
	}
	return nil
}

// decoded returns the value of a header. Clients encode values that contain special characters. See MCP 2026-07-28,
// basic/transports/streamable-http, Value Encoding.
func decoded(value string) string {
	inner, wrapped := strings.CutPrefix(value, "=?base64?")
	if inner, ended := strings.CutSuffix(inner, "?="); wrapped && ended {
		if text, err := base64.StdEncoding.DecodeString(inner); err == nil {
			return string(text)
		}
	}
	return value
}

// meta returns params._meta.
func (q *request) meta() strictjson.Object {
	m, _ := strictjson.AsObject(q.Params["_meta"])
	return m
}

func mismatch(header string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: headerMismatch, Message: "The " + header + " header is missing, or differs from the body."}
}

func invalidParams(message string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: message}
}

func unsupported(requested string) *jsonrpc.Error {
	data, err := strictjson.Append(nil, map[string]any{"supported": anyOf(revisions), "requested": bounded(requested)})
	if err != nil {
		data = nil // the requested revision could not be encoded
	}
	return &jsonrpc.Error{Code: unsupportedVersion, Message: "The protocol version is not supported.", Data: data}
}

func anyOf(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// bounded returns the first 64 bytes of a string from a client, as valid UTF-8, to be quoted in the response.
func bounded(s string) string {
	const most = 64
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "?")
}
