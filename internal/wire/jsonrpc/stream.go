package jsonrpc

import (
	"net/http"
	"time"
)

// readWithin is how long a client may take to read the bytes that were written to an EventStream.
const readWithin = 10 * time.Second

// An EventStream writes server-sent events to a client as they occur. It is not safe for concurrent use.
type EventStream struct {
	// Lost means that the client has disconnected or reads too slowly. Write then writes nothing more.
	Lost bool

	w http.ResponseWriter
}

// NewEventStream returns a stream to the client of w, whose header was sent.
func NewEventStream(w http.ResponseWriter) *EventStream { return &EventStream{w: w} }

// Write sends events or comments, and sets Lost if the client does not read them within 10 seconds.
func (s *EventStream) Write(lines []byte) {
	if s.Lost {
		return
	}
	control := http.NewResponseController(s.w)
	_ = control.SetWriteDeadline(time.Now().Add(readWithin)) //nolint:forbidigo // deadlines of connections use the clock of the machine
	_, err := s.w.Write(lines)
	if err == nil {
		err = control.Flush()
	}
	s.Lost = err != nil
}
