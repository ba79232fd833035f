package via

import (
	"bytes"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// responseAmong returns the one response in a stream of events that has ended; notifications and requests of the server are
// passed over. MCP 2026-07-28, basic/transports/streamable-http, Receiving Messages.
func responseAmong(stream []byte) (found []byte, err error) {
	for _, event := range events(stream) {
		message, decodeErr := strictjson.DecodeObject(event)
		if decodeErr != nil {
			return nil, wrong("an event of the stream is no message")
		}
		if _, asks := message["method"]; asks {
			continue
		}
		if found != nil {
			return nil, wrong("the stream has several responses")
		}
		found = event
	}
	if found == nil {
		return nil, wrong("the stream ended without a response")
	}
	return found, nil
}

// events returns the data of each event that is whole and has data. HTML, 9.2.6 Interpreting an event stream.
func events(stream []byte) [][]byte {
	var list [][]byte
	var data []byte
	stream = bytes.TrimPrefix(stream, []byte("\ufeff"))
	stream = bytes.ReplaceAll(stream, []byte("\r\n"), []byte("\n"))
	stream = bytes.ReplaceAll(stream, []byte("\r"), []byte("\n"))
	for line := range bytes.Lines(stream) {
		text, whole := bytes.CutSuffix(line, []byte("\n"))
		switch {
		case !whole: // a line that was cut off
		case len(text) == 0:
			if data != nil {
				list = append(list, bytes.TrimSuffix(data, []byte("\n")))
			}
			data = nil
		default:
			name, value, _ := bytes.Cut(text, []byte(":"))
			if value = bytes.TrimPrefix(value, []byte(" ")); string(name) == "data" && (len(value) > 0 || data != nil) {
				data = append(append(data, value...), '\n')
			}
		}
	}
	return list
}
