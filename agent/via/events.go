package via

import (
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// responseAmong returns the only response in a complete stream of events. It skips notifications and requests from the server. See MCP
// 2026-07-28, basic/transports/streamable-http, Receiving Messages.
func responseAmong(stream []byte) (found []byte, err error) {
	for _, event := range fetch.Events(stream) {
		message, decodeErr := strictjson.DecodeObject(event)
		if decodeErr != nil {
			return nil, wrong("an event in the stream is not a message")
		}
		if _, asks := message["method"]; asks {
			continue
		}
		if found != nil {
			return nil, wrong("the stream contains several responses")
		}
		found = event
	}
	if found == nil {
		return nil, wrong("the stream ended without a response")
	}
	return found, nil
}
