// Package echo implements the echo skill, which tests a connection: it echoes the bytes in messages of the default protocol. It does
// not reply to JSON objects, which are calls for the intents skill.
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

// Takes reports whether the skill replies to a message of the default protocol with these bytes.
func Takes(content []byte) bool { return !bytes.HasPrefix(bytes.TrimSpace(content), []byte("{")) }

func handle(_ context.Context, m runtime.Message) error {
	message, ok := m.Content.(protocol.DefaultMessage)
	if !ok || message.Performative != protocol.DefaultBytes || !m.Inside() && !Takes(message.Bytes) {
		return nil
	}
	return m.Reply(runtime.Bytes(message.Bytes))
}
