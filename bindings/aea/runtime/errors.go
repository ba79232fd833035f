package runtime

import (
	"sync"
	"time"

	"github.com/uimgate/uimgate/internal/ratelimit"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// An ErrorHandler handles envelopes that no handler can process. It counts them, and notifies their senders with an error of the default
// protocol. It never responds to an error or an end of that protocol, and it notifies no sender more often than Limits.Errors allows.
type ErrorHandler struct {
	perSender *ratelimit.Set
	deliver   func(Envelope) error
	now       func() time.Time

	mu     sync.Mutex
	counts ErrorStatus
}

// An ErrorStatus counts the envelopes that no handler processed, by cause.
type ErrorStatus struct {
	UnsupportedProtocol uint64 `json:"unsupported_protocol"`
	Undecodable         uint64 `json:"undecodable"`
	InvalidMessage      uint64 `json:"invalid_message"`
	UnsupportedSkill    uint64 `json:"unsupported_skill"`
	InvalidDialogue     uint64 `json:"invalid_dialogue"`
	Answered            uint64 `json:"answered"` // errors that were sent
}

// defaultSpec is the only specification id of the default protocol.
var defaultSpec = protocol.Default.Specs[0]

func newErrorHandler(l Limits, deliver func(Envelope) error, now func() time.Time) *ErrorHandler {
	return &ErrorHandler{perSender: ratelimit.NewSet(l.Errors), deliver: deliver, now: now}
}

// Status returns the counts.
func (h *ErrorHandler) Status() ErrorStatus {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts
}

// handle counts an envelope that caused err, and notifies its sender. It does not respond to envelopes between components, or to an error
// or an end of the default protocol.
func (h *ErrorHandler) handle(e Envelope, err error) {
	h.count(func(s *ErrorStatus) {
		switch protocol.CodeOf(err) {
		case protocol.CodeUnsupportedProtocol:
			s.UnsupportedProtocol++
		case protocol.CodeUndecodable:
			s.Undecodable++
		case protocol.CodeUnsupportedSkill:
			s.UnsupportedSkill++
		case protocol.CodeInvalidDialogue:
			s.InvalidDialogue++
		default:
			s.InvalidMessage++
		}
	})
	if !e.ToComponent() && !mayBeFinal(e) {
		h.send(e, protocol.ErrorMessage(err, e.Envelope))
	}
}

func (h *ErrorHandler) count(as func(*ErrorStatus)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	as(&h.counts)
}

// send sends an error to the sender of an envelope, and reports whether it was allowed and sent.
func (h *ErrorHandler) send(e Envelope, m wire.Message) bool {
	if !h.perSender.Admit(e.Sender, h.now()) {
		return false
	}
	data, err := m.Encode()
	if err != nil {
		return false
	}
	back := wire.Envelope{To: e.Sender, Sender: e.To, Protocol: defaultSpec, Message: data}
	if h.deliver(Envelope{back, e.Context}) != nil {
		return false
	}
	h.count(func(s *ErrorStatus) { s.Answered++ })
	return true
}

// mayBeFinal reports whether an envelope contains an error or an end of the default protocol.
func mayBeFinal(e Envelope) bool {
	if e.Protocol != defaultSpec {
		return false
	}
	m, err := wire.DecodeMessage(e.Message)
	if err != nil {
		return false
	}
	c, err := protocol.Default.Decode(m.Content)
	return err == nil && isFinal(c)
}

// isFinal reports whether c is an error or an end of the default protocol, which never get a response.
func isFinal(c protocol.Content) bool {
	d, ok := c.(protocol.DefaultMessage)
	return ok && d.Performative != protocol.DefaultBytes
}
