package gateway

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
)

// An eventStream sends the events of a call, as they arrive, to a client that accepts server-sent events. It begins with the first event of
// the service, or the first notification about progress. Its last event is end or error.
type eventStream struct {
	*jsonrpc.EventStream // if the client has disconnected or does not read, the call continues

	w      *echo.Response
	begun  bool
	events bool // the service has sent events, which contain the output
}

// streamFor returns the stream of a request, or nil if the client does not accept one.
func streamFor(c echo.Context) *eventStream {
	if !strings.Contains(c.Request().Header.Get("Accept"), "text/event-stream") {
		return nil
	}
	return &eventStream{w: c.Response(), EventStream: jsonrpc.NewEventStream(c.Response())}
}

// event sends the data of one event of the service.
func (s *eventStream) event(data []byte) {
	s.events = true
	s.send("event", data)
}

// progress sends a notification of a service that is an MCP server.
func (s *eventStream) progress(p execute.Progress) { s.send("progress", p.JSON()) }

func (s *eventStream) send(name string, data []byte) {
	if !s.begun {
		s.begun = true
		h := s.w.Header()
		h["Cache-Control"], h[echo.HeaderContentType], h["X-Accel-Buffering"] = noStore, []string{"text/event-stream"}, []string{"no"}
		s.w.WriteHeader(http.StatusOK)
	}
	s.Write(jsonrpc.AppendEvent([]byte("event: "+name+"\n"), data))
}

// end sends the output of a call that succeeded, unless the events contain it, and the last event. The data of the last event has the
// values that a response without a stream has in its header, and the member complete: whether the stream of the service was complete.
func (s *eventStream) end(result *execute.Result) {
	if !s.events {
		s.send("output", result.Output)
	}
	h := http.Header{}
	door.WriteHeader(h, result)
	data := map[string]any{"complete": !result.Cut}
	for _, m := range door.Beside {
		if list := h[m.Field]; len(list) == 1 {
			data[m.Name] = list[0]
		} else if len(list) > 1 {
			data[m.Name] = list
		}
	}
	text, err := json.Marshal(data)
	if err != nil { // strings can always be encoded
		return
	}
	s.send("end", text)
}

// refuse sends the last event of a call that was refused or failed after the first event. Its data is the error envelope.
func (s *eventStream) refuse(x *exchange, err error) {
	f := refusal.For(err)
	x.Refusal = f
	about := wire.About{RequestID: string(x.requestID)}
	if x.service != nil {
		about.HelpURL = x.service.HelpURL(f.Reason)
	}
	s.send("error", wire.Envelope(f, about))
}
