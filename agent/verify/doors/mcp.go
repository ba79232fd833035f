package doors

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/agent/via"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/regex"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// mcp is the state of the checks of the MCP endpoint.
type mcp struct {
	url      string
	open     bool         // whether it accepts messages without a token
	stranger fetch.Answer // to the first message, without a token
	metadata string       // URL of the protected resource metadata
	issuer   string       // the first authorization server in the metadata
	server   strictjson.Object
	alone    bool   // whether the server supports the revision in which every request is independent
	session  string // id of the session in other revisions
	taken    bool   // whether the PAT was accepted
	tools    []tool
	toolOf   map[intents.UID]string
	called   reply // to the sample call
}

// The revisions.
const (
	revision2026 = "2026-07-28"
	revision2025 = "2025-11-25"
)

func (d *Doors) mcpURL(context.Context) point.Finding {
	address, f := d.named("uim-mcp")
	d.mcp.url = address
	return f
}

// request sends a message to the endpoint in the revision that it supports.
func (d *Doors) request(ctx context.Context, h http.Header, method string, params map[string]any) (reply, error) {
	h.Set("Accept", "application/json, text/event-stream")
	if params == nil {
		params = map[string]any{}
	}
	if d.mcp.alone {
		h.Set("Mcp-Protocol-Version", revision2026)
		h.Set("Mcp-Method", method)
		if name, ok := params["name"].(string); ok {
			h.Set("Mcp-Name", via.HeaderText(name))
		}
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion": revision2026, "io.modelcontextprotocol/clientCapabilities": map[string]any{},
			"io.modelcontextprotocol/clientInfo": clientInfo,
		}
	} else if method != "initialize" {
		h.Set("Mcp-Protocol-Version", revision2025)
		if d.mcp.session != "" {
			h.Set("Mcp-Session-Id", d.mcp.session)
		}
	}
	return d.send(ctx, d.mcp.url, h, method, params)
}

var clientInfo = map[string]any{"name": "uimgate-verify", "version": "1"}

// mcpEndpoint sends a first message without a token. The message is a tool call, because the list of tools may be public.
func (d *Doors) mcpEndpoint(ctx context.Context) point.Finding {
	d.mcp.alone = true
	r, err := d.request(ctx, http.Header{}, "tools/call", map[string]any{"name": "uimgate-verify"})
	d.mcp.alone = false
	if err != nil {
		return point.Failed(err)
	}
	d.mcp.stranger = r.Answer
	switch status := r.Status; {
	case status == http.StatusUnauthorized:
		return point.Pass
	case r.result != nil, r.failed != nil && (status == http.StatusOK || status == http.StatusBadRequest || status == http.StatusNotFound):
		d.mcp.open = true
		return point.Holds.Because("it accepts messages without a token")
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusNotImplemented:
		return point.Missing.Because("the response to POST is %d", status)
	case status >= http.StatusInternalServerError:
		return point.ServerError(r.Answer)
	case status/100 == 2:
		return point.Wrong.Because("the response is not a message: %s", r.odd)
	default:
		return point.Wrong.Because("the response to POST is %d", status)
	}
}

var (
	metadataParameter = regex.Lazy(`(?i)[\s,]resource_metadata\s*=\s*"([^"]*)"`)
	bearerScheme      = regex.Lazy(`(?i)(^|,\s*)bearer\s`)
)

// challenge checks the challenge in a response, and returns the metadata URL in it.
func challenge(a fetch.Answer) (metadata string, f point.Finding) {
	text := strings.Join(a.Header.Values("Www-Authenticate"), ", ")
	switch {
	case text == "":
		return "", point.Missing.Because("WWW-Authenticate is missing")
	case !bearerScheme().MatchString(text):
		return "", point.Wrong.Because("it requires a scheme other than Bearer")
	}
	if m := metadataParameter().FindStringSubmatch(text); m != nil {
		metadata = m[1]
	}
	return metadata, point.Pass
}

// mcpChallenge reads the challenge to a request without a token. See RFC 9728, section 5.1.
func (d *Doors) mcpChallenge(context.Context) point.Finding {
	if d.mcp.open {
		return point.Skipped.Because("it accepts messages without a token")
	}
	metadata, f := challenge(d.mcp.stranger)
	if f.Ok() && metadata == "" {
		return point.Missing.Because("WWW-Authenticate has no resource_metadata")
	}
	d.mcp.metadata = metadata
	return f
}

// mcpDiscover finds the revision for the following checks.
func (d *Doors) mcpDiscover(ctx context.Context) point.Finding {
	f := d.discover(ctx)
	d.mcp.taken = f.Ok()
	return f
}

func (d *Doors) discover(ctx context.Context) point.Finding {
	if d.Token == "" && !d.mcp.open {
		return wantsToken
	}
	d.mcp.alone = true
	r, err := d.request(ctx, d.bearer(http.Header{}), "server/discover", nil)
	if err != nil {
		return point.Failed(err)
	}
	if r.result == nil && r.Status != http.StatusUnauthorized && r.Status < http.StatusInternalServerError {
		d.mcp.alone = false
		return d.handshake(ctx)
	}
	if f := r.answered(); !f.Ok() {
		return f
	}
	versions, ok := texts(r.result.List("supportedVersions"))
	switch {
	case !ok || len(versions) == 0:
		return point.Wrong.Because("supportedVersions is not a list of strings")
	case !slices.Contains(versions, revision2026): // it responds, but requires an earlier revision
		d.mcp.alone = false
		return d.handshake(ctx)
	case r.result.Object("capabilities")["tools"] == nil:
		return point.Missing.Because("capabilities has no tools")
	}
	return point.Holds.Because("%s", strings.Join(versions[:min(len(versions), 10)], ", "))
}

// handshake opens a session under the revisions before 2026-07-28. See MCP 2025-11-25, basic/lifecycle, Initialization.
func (d *Doors) handshake(ctx context.Context) point.Finding {
	r, err := d.request(ctx, d.bearer(http.Header{}), "initialize", map[string]any{
		"protocolVersion": revision2025, "capabilities": map[string]any{}, "clientInfo": clientInfo,
	})
	if err != nil {
		return point.Failed(err)
	}
	if f := r.answered(); !f.Ok() {
		return f
	}
	version := r.result.Text("protocolVersion")
	switch {
	case version == "":
		return point.Wrong.Because("the result of initialize has no protocolVersion")
	case version != revision2025:
		return point.Skipped.Because("it uses revision %.40q, which this check does not support", version)
	case r.result.Object("capabilities")["tools"] == nil:
		return point.Missing.Because("capabilities has no tools")
	}
	const longest = 1 << 10
	if d.mcp.session = r.Header.Get("Mcp-Session-Id"); len(d.mcp.session) > longest {
		return point.Wrong.Because("Mcp-Session-Id is longer than %d bytes", longest)
	}
	h := d.bearer(http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {revision2025},
	})
	if d.mcp.session != "" {
		h.Set("Mcp-Session-Id", d.mcp.session)
	}
	a, err := d.ask(ctx, http.MethodPost, d.mcp.url, h, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	switch {
	case err != nil:
		return point.Failed(err)
	case a.Status/100 != 2:
		return point.Wrong.Because("the response to notifications/initialized is %d", a.Status)
	}
	return point.Holds.Because("%s", version)
}

// mcpOrigin sends a request as a web page of another site would.
func (d *Doors) mcpOrigin(ctx context.Context) point.Finding {
	r, err := d.request(ctx, d.bearer(http.Header{"Origin": {"https://uimgate-verify.invalid"}}), "tools/list", nil)
	if err != nil {
		return point.Failed(err)
	}
	return point.Status(r.Answer, http.StatusForbidden)
}

// mcpRevoked sends a request with the revoked PAT.
func (d *Doors) mcpRevoked(ctx context.Context) point.Finding {
	if !d.mcp.taken || d.mcp.open {
		return point.Skipped.Because("the PAT was not needed there")
	}
	r, err := d.request(ctx, d.bearer(http.Header{}), "tools/list", nil)
	if err != nil {
		return point.Failed(err)
	}
	return point.Status(r.Answer, http.StatusUnauthorized)
}

// texts converts a list of strings. It returns false if an item is not a string or is empty.
func texts(list []any) ([]string, bool) {
	out := make([]string, 0, len(list))
	for _, item := range list {
		text, ok := item.(string)
		if !ok || text == "" {
			return nil, false
		}
		out = append(out, text)
	}
	return out, true
}
