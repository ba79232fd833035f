// Package agreement reads the agreements of agents of the uAgents protocol. An agreement is an envelope that is signed with the key that
// the agent's address encodes, and that carries a UIMAgree, a UIMAgreeToPlan or a chat message. The envelope as received is the complete
// evidence, and can be verified at any time:
//
//	a, err := agreement.Read(evidence)
//
// A door passes Form to the issuer of PATs, and Evidence for each agreement.
package agreement

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/chat"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
	"github.com/uimgate/uimgate/pat/keys"
)

// MaxBytes is the maximum length of an envelope with an agreement, in bytes.
const MaxBytes = 16 << 10

// An Agreement is the content of a signed envelope.
type Agreement struct {
	Agent        string    // address of the sender
	Target       string    // address of the recipient
	ID           string    // 64 hex digits: the digest of the envelope without its signature
	Expires      time.Time // zero: never
	PolicyDigest string
	Issuer       string   // the issuer of the service; empty in a chat message, where only Target names the service
	Scope        []string // nil: the message has none
	Plan         string   // the plan of the policy that the agent chooses; empty: none
	Chat         bool     // the agreement is a chat message: agree and the digest, and possibly plan and its name
}

// ErrSignature means that bytes are not an envelope that is signed with an agent's key.
var ErrSignature = errors.New("not an envelope that is signed with the agent's key")

// A MemberError names the invalid member of a signed message. It does not contain the value of the member.
type MemberError struct{ Member, Reason string }

func (e *MemberError) Error() string { return e.Member + ": " + e.Reason }

// Read verifies the signature of an envelope, and reads the agreement in it. The error is of kind ErrSignature, or a *MemberError if the
// envelope is signed but has no valid agreement.
func Read(raw []byte) (Agreement, error) {
	e, err := verified(raw)
	if err != nil {
		return Agreement{}, err
	}
	read := (*Agreement).read
	switch name, _ := protocol.NameOf(e.SchemaDigest); name {
	case "UIMAgree":
	case "UIMAgreeToPlan":
		read = (*Agreement).readPlan
	case "ChatMessage":
		read = (*Agreement).readChat
	default:
		return Agreement{}, &MemberError{"schema_digest", "want the digest of UIMAgree, UIMAgreeToPlan or ChatMessage"}
	}
	digest := e.Digest()
	a := Agreement{Agent: string(e.Sender), Target: string(e.Target), ID: hex.EncodeToString(digest[:])}
	if e.Expires != nil {
		a.Expires = e.Until(time.Time{})
	}
	if err := read(&a, e); err != nil {
		return Agreement{}, err
	}
	return a, nil
}

// verified parses an envelope and verifies its signature. The error is of kind ErrSignature.
func verified(raw []byte) (envelope.Envelope, error) {
	if len(raw) > MaxBytes {
		return envelope.Envelope{}, fmt.Errorf("%w: longer than %d bytes", ErrSignature, MaxBytes)
	}
	e, err := envelope.Parse(raw)
	if err == nil {
		err = e.Verify()
	}
	if err != nil {
		return envelope.Envelope{}, fmt.Errorf("%w: %w", ErrSignature, err)
	}
	return e, nil
}

// readChat reads an agreement in a chat message, which must contain only the agreement.
func (a *Agreement) readChat(e envelope.Envelope) error {
	text, err := e.Message()
	if err != nil {
		return &MemberError{"payload", "want base64 of a message"}
	}
	m, err := chat.Parse(text)
	if err != nil {
		return &MemberError{"payload", "want a ChatMessage"}
	}
	digest, plan, agrees := m.Agrees()
	if !agrees {
		return &MemberError{"content", "want agree and the digest of the policy in one item of text, then plan and its name or nothing else"}
	}
	a.Chat, a.PolicyDigest, a.Plan = true, digest, plan
	return nil
}

// readPlan reads an agreement in a UIMAgreeToPlan.
func (a *Agreement) readPlan(e envelope.Envelope) error {
	message, err := a.members(e, "policy_digest", "issuer", "scope", "plan")
	if err != nil {
		return err
	}
	if a.Plan = message.Text("plan"); a.Plan == "" {
		return &MemberError{"plan", "want the name of a plan"}
	}
	return nil
}

// read reads an agreement in a UIMAgree.
func (a *Agreement) read(e envelope.Envelope) error {
	_, err := a.members(e, "policy_digest", "issuer", "scope")
	return err
}

// members reads the members that all agreements have, and returns the message, which may have only members with these names.
func (a *Agreement) members(e envelope.Envelope, names ...string) (strictjson.Object, error) {
	text, err := e.Message()
	if err != nil {
		return nil, &MemberError{"payload", "want base64 of a message"}
	}
	message, err := strictjson.DecodeObject(text)
	if err != nil {
		return nil, &MemberError{"payload", "want one JSON object"}
	}
	for name := range message {
		if !slices.Contains(names, name) {
			return nil, &MemberError{"payload", "want " + strings.Join(names, ", ") + ", and no other member"}
		}
	}
	if a.PolicyDigest = message.Text("policy_digest"); a.PolicyDigest == "" {
		return nil, &MemberError{"policy_digest", "want the digest of the policy"}
	}
	if a.Issuer = message.Text("issuer"); a.Issuer == "" {
		return nil, &MemberError{"issuer", "want the issuer of the service"}
	}
	if message["scope"] == nil {
		return message, nil
	}
	list, ok := message["scope"].([]any)
	if !ok {
		return nil, &MemberError{"scope", "want a list of strings, or null"}
	}
	a.Scope = make([]string, 0, len(list))
	for _, item := range list {
		entry, ok := item.(string)
		if !ok {
			return nil, &MemberError{"scope", "want a list of strings, or null"}
		}
		a.Scope = append(a.Scope, entry)
	}
	return message, nil
}

// IsAddress reports whether text is the address of an agent.
func IsAddress(text string) bool {
	a, err := identity.ParseAddress(text)
	return err == nil && a.Agent()
}

// Key returns the key that an agent's address encodes. ok is false if address is not the address of an agent.
func Key(address string) (key keys.Key, ok bool) {
	if !IsAddress(address) {
		return keys.Key{}, false
	}
	return keys.AddressKey(address, identity.Address(address).Point()), true
}
