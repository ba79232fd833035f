package pat

import (
	"strings"

	"github.com/uimgate/uimgate/pat/keys"
)

// The identifiers of this package are distinct types, so that the compiler rejects one in place of another. Each has the same form on the
// wire and in the database.
type (
	// An AgentID identifies an agent at one service: 1 to 200 visible ASCII characters. See ParseAgentID.
	AgentID string
	// A TokenID identifies a PAT: its claim jti, 26 characters of base32. See RFC 7519, section 4.1.7.
	TokenID string
	// An AgreementID identifies an agreement: a UUIDv7, and the claim agr of the PATs under the agreement.
	AgreementID string
	// A Principal identifies the caller in records. It is the agent id or, under a static agreement, the agent id, a space (which no id
	// contains) and the word static. Anyone who has seen a static agreement can send it again, so the calls under it are counted, keyed,
	// charged, suspended and blocked separately from the other calls of the agent. See PrincipalOf.
	Principal string
)

const staticSuffix = " static"

// PrincipalOf returns the principal of an agent under an agreement with the given assurance.
func PrincipalOf(id AgentID, a Assurance) Principal {
	if a == Static {
		return Principal(id) + staticSuffix
	}
	return Principal(id)
}

// Record returns the id of the Agent record for the principal.
func (p Principal) Record() AgentID { return AgentID(p) }

// ParseRecord parses the id of an Agent record: an agent id, or the principal of an agent under static agreements. The error is
// ErrBadAgentID.
func ParseRecord(s string) (AgentID, error) {
	if _, err := ParseAgentID(strings.TrimSuffix(s, staticSuffix)); err != nil {
		return "", err
	}
	return AgentID(s), nil
}

const maxAgentID = 200

// ParseAgentID checks the form of s and returns s as an AgentID. The error is ErrBadAgentID.
func ParseAgentID(s string) (AgentID, error) {
	if len(s) > maxAgentID || !visible(s) {
		return "", ErrBadAgentID
	}
	return AgentID(s), nil
}

// visible reports whether s is one or more visible ASCII characters.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return s != ""
}

// Covers reports whether the signed scope of the agreement contains an intent. An agreement without a scope covers every intent.
func (a Agreement) Covers(uid string) bool { return a.Scope == nil || permits(a.Scope, uid) }

// Key returns the key that signed the agreement; under consent, the gateway's key that signed the record. If the agent id is an address of
// another protocol, the key cannot verify a proof of key, because agents of that protocol sign only its messages. The error is of kind
// keys.ErrUnsupported or keys.ErrWeak.
func (a Agreement) Key() (keys.Key, error) {
	if point, ok := keys.PointOf(a.PublicKey); ok {
		return keys.AddressKey(string(a.AgentID), point), nil
	}
	return keys.ParseSPKI(a.PublicKey)
}
