package via

import (
	"cmp"
	"encoding/base64"
	"errors"
	"mime"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/payments/x402"
)

// MCP encodes calls for an MCP server of the revision in which every request is independent. See MCP 2026-07-28.
type MCP struct {
	URL    string // the URL of the endpoint
	Client string // name and version of the client, such as agent/1.0
}

const (
	revision   = "2026-07-28"
	metaPrefix = "io.modelcontextprotocol/"
)

// metaFields are the header fields that a tool call carries in _meta, under the same names. The name traceparent comes from W3C
// Trace Context.
var metaFields = []string{"Idempotency-Key", "UIM-Proof", "UIM-Request-ID", "traceparent"}

// Message encodes a tools/call request. See MCP 2026-07-28, server/tools; basic/transports/streamable-http, Standard Request Headers.
func (m MCP) Message(c Call) (Message, error) {
	h := c.Header.Clone()
	name, version, _ := strings.Cut(m.Client, "/")
	meta := map[string]any{
		metaPrefix + "protocolVersion": revision, metaPrefix + "clientCapabilities": map[string]any{},
		metaPrefix + "clientInfo": map[string]any{"name": name, "version": cmp.Or(version, "0")},
	}
	for _, name := range metaFields {
		if value := h.Get(name); value != "" {
			meta[name] = value
			h.Del(name)
		}
	}
	if payment := h.Get(x402.HeaderSignature); payment != "" {
		tree, err := document(payment)
		if err != nil {
			return Message{}, errors.New("the payment is not a JSON object in base64")
		}
		meta[x402.MetaPayment] = map[string]any(tree)
		h.Del(x402.HeaderSignature)
	}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("Mcp-Protocol-Version", revision)
	h.Set("Mcp-Method", "tools/call")
	h.Set("Mcp-Name", HeaderText(c.Tool))
	body, err := request(c.ID, "tools/call", func(w *strictjson.Writer) {
		w.Text("name", c.Tool)
		w.Append("arguments", func(out []byte) ([]byte, error) { return strictjson.Append(out, c.Parameters) })
		w.Object("_meta", meta)
	})
	return Message{URL: m.URL, Header: h, Body: body}, err
}

// HeaderText returns s as the value of a header field, encoded if the field cannot carry s unchanged. See MCP 2026-07-28,
// basic/transports/streamable-http, Value Encoding.
func HeaderText(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < 0x21 || r > 0x7e }) || strings.HasPrefix(s, "=?") {
		return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
	}
	return s
}

// besideTool are the members of a result's _meta that the execute endpoint sends as header fields.
var besideTool = []string{"UIM-Charge", "RateLimit", "RateLimit-Policy", "Idempotency-Replayed", "UIM-Request-ID", "UIM-Receipt"}

// Read reads the result of a tool call, or the error. See MCP 2026-07-28, server/tools, Tool Result, Error Handling.
func (m MCP) Read(id string, a fetch.Answer) (fetch.Answer, error) {
	body := a.Body
	if kind, _, err := mime.ParseMediaType(a.Header.Get("Content-Type")); err == nil && kind == "text/event-stream" && a.Status/100 == 2 {
		if body, err = responseAmong(body); err != nil {
			return fetch.Answer{}, err
		}
	}
	r, ok, err := readResponse(body, id)
	switch {
	case !ok:
		return foreign(a)
	case err != nil:
		return fetch.Answer{}, err
	case r.failed != nil:
		if reply := r.failed.Object("data"); isError(reply) {
			return refused(a, ofTool(reply), statusOf(a.Status, r.failed))
		}
		return refusedWith(a, statusOf(a.Status, r.failed), r.failed.Text("message"), "")
	case a.Status/100 != 2:
		return foreign(a)
	}
	out, err := readTool(a, r)
	if err != nil {
		return fetch.Answer{}, err
	}
	meta := r.result.Object("_meta")
	for _, name := range besideTool {
		beside(out, name, textsOf(meta[name])...)
	}
	for name, member := range map[string]string{x402.HeaderRequired: x402.MetaRequired, x402.HeaderResponse: x402.MetaResponse} {
		out.Header.Del(name) // an MCP response carries it only in _meta
		if tree := meta.Object(member); tree != nil {
			if text, err := strictjson.Append(nil, map[string]any(tree)); err == nil {
				beside(out, name, x402.Header(text))
			}
		}
	}
	return out, nil
}

// document reads the value of a header field of x402.
func document(value string) (strictjson.Object, error) {
	text, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return nil, err
	}
	return strictjson.DecodeObject(text)
}

func textsOf(v any) []string {
	var out []string
	list := strictjson.AsList(v)
	for _, one := range list[:min(len(list), maxBlocks)] {
		if text, ok := one.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// readTool reads the result of a call: the structured content or, if there is none, the text, which must then be JSON. It ignores
// the structured content of a result with isError.
func readTool(a fetch.Answer, r response) (fetch.Answer, error) {
	if kind, stated := r.result["resultType"]; stated && kind != "complete" {
		return fetch.Answer{}, wrong("the server requests something instead of returning a result")
	}
	failed, isFlag := r.result["isError"].(bool)
	if r.result["isError"] != nil && !isFlag {
		return fetch.Answer{}, wrong("isError is not a boolean")
	}
	texts := textBlocks(r.result)
	if failed {
		for _, text := range texts {
			if tree, err := strictjson.DecodeObject([]byte(text)); err == nil && isError(tree) {
				return refused(a, ofTool(tree), http.StatusInternalServerError)
			}
		}
		return refusedWith(a, http.StatusInternalServerError, strings.Join(texts, " "), "unknown")
	}
	if output, ok := strictjson.Find(r.text, "/result/structuredContent"); ok {
		return done(a, output), nil
	}
	if len(texts) == 1 {
		if _, err := strictjson.Decode([]byte(texts[0])); err == nil {
			return done(a, []byte(texts[0])), nil
		}
	}
	return fetch.Answer{}, wrong("the result has no JSON output")
}

func textBlocks(result strictjson.Object) []string {
	var out []string
	list := result.List("content")
	for _, v := range list[:min(len(list), maxBlocks)] {
		if block, ok := strictjson.AsObject(v); ok && block["type"] == "text" {
			out = append(out, block.Text("text"))
		}
	}
	return out
}

// ofTool rewrites the pointers of an error: the arguments of a tool are the parameters of the intent.
func ofTool(tree strictjson.Object) strictjson.Object {
	details := tree.Object("error").Object("details")
	rewrite := func(o strictjson.Object) {
		if rest, ok := strings.CutPrefix(o.Text("pointer"), "/arguments"); ok {
			o["pointer"] = "/parameters" + rest
		}
	}
	rewrite(details)
	for _, v := range details.List("violations") {
		if o, ok := strictjson.AsObject(v); ok {
			rewrite(o)
		}
	}
	return tree
}
