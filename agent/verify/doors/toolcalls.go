package doors

import (
	"context"
	"net/http"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// callTool calls the tool of an intent. See MCP 2026-07-28, server/tools, Calling Tools.
func (d *Doors) callTool(ctx context.Context, name string, arguments map[string]any) (reply, error) {
	if arguments == nil {
		arguments = map[string]any{}
	}
	return d.request(ctx, d.bearer(http.Header{}), "tools/call", map[string]any{"name": name, "arguments": arguments})
}

// noSample is the finding if no call may be made.
var noSample = point.Skipped.Because("no repeatable call was made over HTTP: see execute-answers")

func (d *Doors) mcpCall(ctx context.Context) point.Finding {
	if d.Sample.Intent == nil {
		return noSample
	}
	name := d.mcp.toolOf[d.Sample.Intent.UID]
	r, err := d.callTool(ctx, name, d.Sample.Parameters)
	if err != nil {
		return point.Failed(err)
	}
	if f := r.answered(); !f.Ok() {
		return f
	}
	d.mcp.called = r
	if r.result.Flag("isError") {
		return point.Wrong.Because("%s is refused, but HTTP executes the call", name)
	}
	output, ok := d.toolOutput(r.result)
	if !ok {
		return point.Wrong.Because("the result of %s contains no JSON", name)
	}
	return d.fits(output)
}

// toolOutput returns the output of a tool: structured content, or text that is JSON.
func (d *Doors) toolOutput(result strictjson.Object) (any, bool) {
	if v, ok := result["structuredContent"]; ok && v != nil {
		return v, true
	}
	for _, text := range contents(result) {
		if tree, err := strictjson.Decode([]byte(text)); err == nil {
			return tree, true
		}
	}
	return nil, false
}

// contents returns the strings of the result's first text items, at most 100 of them.
func contents(result strictjson.Object) []string {
	const most = 100
	var out []string
	for _, item := range result.List("content") {
		block, _ := strictjson.AsObject(item)
		if text := block.Text("text"); block.Text("type") == "text" && len(out) < most {
			out = append(out, text)
		}
	}
	return out
}

// fits checks the result of a door against the outputs of the sample's intent.
func (d *Doors) fits(output any) point.Finding {
	fitted, err := d.Sample.Intent.Fit(output, false)
	switch {
	case err != nil:
		return point.Wrong.Because("%v", err)
	case len(fitted.Dropped) > 0:
		return point.Wrong.Because("%s", fitted.Dropped[0])
	}
	return point.Pass
}

func (d *Doors) mcpLimits(context.Context) point.Finding {
	h := d.mcp.called.Header.Clone()
	meta := d.mcp.called.result.Object("_meta")
	if list := strictjson.AsList(meta["RateLimit"]); h.Get("Ratelimit") == "" && list != nil {
		h["Ratelimit"], _ = texts(list)
	}
	return d.shared(h)
}

// mcpRefused repeats over MCP the call that HTTP refused because of its parameters. See MCP 2026-07-28, server/tools, Error Handling.
func (d *Doors) mcpRefused(ctx context.Context) point.Finding {
	if d.Refused.Intent == nil {
		return noRefusal
	}
	name := d.mcp.toolOf[d.Refused.Intent.UID]
	if name == "" {
		return point.Skipped.Because("%s is not a tool", d.Refused.Intent.UID)
	}
	r, err := d.callTool(ctx, name, d.Refused.Parameters)
	if err != nil {
		return point.Failed(err)
	}
	if r.failed != nil {
		return point.Wrong.Because("the response is the error %d, which models do not see", r.failed.code)
	}
	if f := r.answered(); !f.Ok() {
		return f
	}
	if !r.result.Flag("isError") {
		return point.Wrong.Because("%s is executed nevertheless", name)
	}
	want := d.Refused.reason()
	for _, text := range contents(r.result) {
		tree, err := strictjson.DecodeObject([]byte(text))
		if got := reasonIn(tree); err == nil && got != "" {
			return sameReason(got, want)
		}
	}
	return point.Missing.Because("no text of the result is the error in the form of HTTP")
}

var noRefusal = point.Skipped.Because("no call was refused over HTTP because of a parameter")

func sameReason(got, want string) point.Finding {
	if want == "" || got == want {
		return point.Pass
	}
	return point.Wrong.Because("the reason is %.64q, but %.64q over HTTP", got, want)
}

func (d *Doors) mcpUnknownTool(ctx context.Context) point.Finding {
	r, err := d.callTool(ctx, "uimgate_verify_no_such_tool", nil)
	switch {
	case err != nil:
		return point.Failed(err)
	case r.failed != nil && r.failed.code == invalidParams:
		return point.Pass
	case r.failed != nil:
		return point.Wrong.Because("the response is the error %d", r.failed.code)
	case r.result != nil:
		return point.Wrong.Because("the response is a result")
	}
	return r.answered()
}
