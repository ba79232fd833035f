package runtime

import (
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// The types of the wire that a program needs for its own skills and protocols. A Content is a message: its type encodes itself, and the
// Parse function of its Protocol decodes it.
//
//nolint:revive // one comment describes the group
type (
	PublicID       = wire.PublicID
	Protocol       = protocol.Protocol
	Rules          = protocol.Rules
	Performative   = protocol.Performative
	Content        = protocol.Content
	DefaultMessage = protocol.DefaultMessage
)

// ErrUndecodable must be wrapped by the errors of the Parse function of a Protocol.
var ErrUndecodable = wire.ErrUndecodable

// DefaultProtocol returns the default protocol, whose messages are DefaultMessages.
func DefaultProtocol() *Protocol { return &protocol.Default }

// Bytes returns the message of the default protocol that carries data.
func Bytes(data []byte) DefaultMessage {
	return DefaultMessage{Performative: protocol.DefaultBytes, Bytes: data}
}
