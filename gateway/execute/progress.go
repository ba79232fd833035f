package execute

import (
	"encoding/json"

	"github.com/uimgate/uimgate/gateway/execute/upstream"
)

// A Progress is a notification of an MCP server about the progress of a call.
type Progress upstream.Progress

// JSON returns an object with the members progress and, if the server sent them, total and message.
func (p Progress) JSON() []byte {
	object := map[string]any{"progress": p.Progress}
	if p.Total != "" {
		object["total"] = p.Total
	}
	if p.Message != "" {
		object["message"] = p.Message
	}
	out, err := json.Marshal(object)
	if err != nil { // numbers and strings can always be encoded
		return []byte("{}")
	}
	return out
}

// reporter returns the function that receives notifications about the progress of the call, or nil if there is none.
func (c *Call) reporter() func(upstream.Progress) {
	switch {
	case c.Progress != nil:
		return func(p upstream.Progress) { c.Progress(Progress(p)) }
	case c.Stream != nil:
		return func(p upstream.Progress) { c.Stream(Progress(p).JSON()) }
	default:
		return nil
	}
}
