package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/bindings/mcp/tool"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// listedFor is how long a client may cache the list of tools, in milliseconds.
const listedFor = 300_000

// capabilities are those of the door in all revisions.
const capabilities = `{"tools":{},"resources":{},"prompts":{},"completions":{}}`

// discover responds to server/discover. See MCP 2026-07-28, server/discover.
func (d *Door) discover(r *http.Request, a *answer, _ execute.Call) {
	q := a.request
	w := strictjson.NewWriter(nil)
	w.Text("resultType", "complete")
	w.Texts("supportedVersions", revisions)
	w.JSON("capabilities", []byte(strings.TrimSuffix(capabilities, "}")+`,"extensions":{"`+tasksExtension+`":{}}}`))
	w.Optional("instructions", d.instructions(r.Context(), a))
	w.JSON("ttlMs", strconv.AppendInt(nil, listedFor, 10))
	w.Text("cacheScope", "public")
	w.Append("_meta", func(out []byte) ([]byte, error) {
		m := strictjson.NewWriter(out)
		m.Append(metaPrefix+"serverInfo", d.serverInfo(q))
		if next := successor(q); next != nil {
			m.JSON(successorMember, next)
		}
		return m.End()
	})
	a.result(ended(w))
}

// initialize responds to initialize. The result contains the revision that the client requests if that revision is supported and has a
// handshake, and otherwise the newest revision with a handshake. See MCP 2025-11-25, basic/lifecycle, Initialization.
func (d *Door) initialize(r *http.Request, a *answer, _ execute.Call) {
	q := a.request
	a.declareSession()
	version, _ := q.Params["protocolVersion"].(string)
	if version == revision2026 || !slices.Contains(revisions, version) {
		version = revision2025
	}
	w := strictjson.NewWriter(nil)
	w.Text("protocolVersion", version)
	w.JSON("capabilities", []byte(capabilities))
	w.Append("serverInfo", d.serverInfo(q))
	w.Optional("instructions", d.instructions(r.Context(), a))
	if next := successor(q); next != nil {
		w.JSON("_meta", append(append([]byte(`{"`+successorMember+`":`), next...), '}'))
	}
	a.result(ended(w))
}

// successorMember is the member of _meta that describes the next policy.
const successorMember = "policy_successor"

// successor returns the policy that takes effect next as JSON, or nil if there is none.
func successor(q *request) []byte {
	next := q.Service.Successor()
	if next == nil {
		return nil
	}
	text, err := json.Marshal(next)
	if err != nil { // its strings and times can always be encoded
		return nil
	}
	return text
}

func (d *Door) serverInfo(q *request) func([]byte) ([]byte, error) {
	return func(out []byte) ([]byte, error) {
		name := q.Service.Catalog.Service.Name
		w := strictjson.NewWriter(out)
		w.Text("name", q.Service.Issuer)
		w.Optional("title", name)
		w.Text("version", d.version)
		w.Text("websiteUrl", q.Service.At("/"))
		if list, err := json.Marshal(icons(q.Service.Definition)); err == nil {
			w.JSON("icons", list)
		}
		return w.End()
	}
}

// instructions returns the instructions for a model, which cover the topics that the tools do not describe.
func (d *Door) instructions(ctx context.Context, a *answer) string {
	s := a.Service
	text := "Tools of " + s.Issuer + ". The policy at " + s.At("/api/policy") + " applies to each call: the token was issued under it. " +
		"Each refusal contains the cause and the next step."
	if about := s.Catalog.Service.Description; about != "" {
		text = tool.Plain(about, 1000) + "\n\n" + text
	}
	return text + a.introduction(d.tools.Of(ctx, s.Definition))
}

// ended returns the encoded object. Encoding does not fail: the strings are constants or were checked when they were loaded.
func ended(w strictjson.Writer) []byte {
	out, err := w.End()
	if err != nil {
		return []byte("{}")
	}
	return out
}
