package uagents

import (
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// maxTools is the maximum size of the list of tools in a reply, in bytes. The protocol has no request for further tools, but UIMSearch
// finds all intents.
const maxTools = 1 << 20

// listTools replies to ListTools with the tools that the MCP endpoint lists.
func (x *exchange) listTools(message strictjson.Object) (envelope.Envelope, error) {
	if err := wire.NewMembers(message).Done(); err != nil {
		return x.toolFailed("ListToolsResponse", err)
	}
	w := strictjson.NewWriter(nil)
	w.Append("tools", func(out []byte) ([]byte, error) {
		out = append(out, '[')
		begin := len(out)
		for _, described := range x.d.tools.Of(x.r.Context(), x.Service.Definition).Described {
			if len(out)-begin+len(described) > maxTools {
				break
			}
			if len(out) > begin {
				out = append(out, ',')
			}
			out = append(out, described...)
		}
		return append(out, ']'), nil
	})
	return x.tool("ListToolsResponse", w)
}

// callTool handles CallTool: it executes a call under the newest PAT of the sender, and replies with the output as text.
func (x *exchange) callTool(message strictjson.Object) (envelope.Envelope, error) {
	m := wire.NewMembers(message)
	named := m.Text("tool", true)
	request := execute.Request{
		IntentUID: x.d.tools.Of(x.r.Context(), x.Service.Definition).UID(named), Parameters: m.Object("args"), At: "/args",
	}
	result, err := x.call("", x.messageKey(), request, m.Done())
	if err != nil {
		return x.toolFailed("CallToolResponse", err)
	}
	output, err := x.output(&result)
	if err != nil {
		return x.toolFailed("CallToolResponse", err)
	}
	w := strictjson.NewWriter(nil)
	w.Text("result", string(output))
	answer, err := x.tool("CallToolResponse", w)
	return answer, err
}

// toolFailed replies with the error as a sentence, because language models read only text.
func (x *exchange) toolFailed(model string, err error) (envelope.Envelope, error) {
	w := strictjson.NewWriter(nil)
	w.Text("error", refusal.Sentence(x.refused(err, advice)))
	return x.tool(model, w)
}

func (x *exchange) tool(model string, w strictjson.Writer) (envelope.Envelope, error) {
	message, err := w.End()
	if err != nil {
		return envelope.Envelope{}, reason.Internal.Refusal("The reply could not be encoded.").Because(err)
	}
	return x.reply(model, protocol.MCP().Digest, message), nil
}
