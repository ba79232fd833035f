// Package echo implements the skill echo, for trying a connection: it replies to bytes of the protocol default with the same bytes. It does
// not reply to JSON objects, which are calls for the skill intents.
package echo

import (
	"bytes"
	"context"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// ID identifies the skill inside the agent of a service.
var ID = wire.PublicID{Author: "uimgate", Name: "echo", Version: "1.0.0"}

// Skill returns the skill.
func Skill() runtime.Skill {
	return runtime.Skill{ID: ID, Handlers: []runtime.Handler{{Protocol: runtime.DefaultProtocol(), Handle: handle}}}
}

// Takes reports whether the skill replies to a message of the protocol default with these bytes.
func Takes(content []byte) bool { return !bytes.HasPrefix(bytes.TrimSpace(content), []byte("{")) }

func handle(_ context.Context, m runtime.Message) error {
	message, ok := m.Content.(protocol.DefaultMessage)
	if !ok || message.Performative != protocol.DefaultBytes || !m.Inside() && !Takes(message.Bytes) {
		return nil
	}
	return m.Reply(runtime.Bytes(message.Bytes))
}
