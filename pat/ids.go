package pat

import (
	"strings"

	"github.com/uimgate/uimgate/pat/keys"
)

// The identifiers of this package are distinct types, so that the compiler rejects one instead of another. The text of each is the same
// on the wire and in the database.
type (
	// An AgentID names an agent at one service: 1 to 200 visible ASCII characters. See ParseAgentID.
	AgentID string
	// A TokenID names a PAT: its claim jti, 26 characters of base32. RFC 7519 4.1.7.
	TokenID string
	// An AgreementID names an agreement: a UUIDv7, the claim agr of the PATs under it.
	AgreementID string
	// A Principal identifies the caller in records: an agent or, under a static agreement, its id, a space (which no id contains) and the
	// word static. Anyone who saw a static agreement can send it again, so its calls are counted, keyed, charged, suspended and blocked
	// separately from the agent's own. See PrincipalOf.
	Principal string
)

const staticSuffix = " static"

// PrincipalOf returns the principal under an agreement of an agent.
func PrincipalOf(id AgentID, a Assurance) Principal {
	if a == Static {
		return Principal(id) + staticSuffix
	}
	return Principal(id)
}

// Record returns the id that the records of an agent have for the principal.
func (p Principal) Record() AgentID { return AgentID(p) }

// ParseRecord parses the id of an agent's record: that of an agent, or of an agent under static agreements. The error is ErrBadAgentID.
func ParseRecord(s string) (AgentID, error) {
	if _, err := ParseAgentID(strings.TrimSuffix(s, staticSuffix)); err != nil {
		return "", err
	}
	return AgentID(s), nil
}

const maxAgentID = 200

// ParseAgentID returns s as an AgentID. The error is ErrBadAgentID.
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

// Key returns the key that agreed; under consent that of the gateway, which signed the record. One that comes with an address of another
// protocol verifies no proof of key, because it signs only messages of that protocol. The error is of kind keys.ErrUnsupported or
// keys.ErrWeak.
func (a Agreement) Key() (keys.Key, error) {
	if point, ok := keys.PointOf(a.PublicKey); ok {
		return keys.AddressKey(string(a.AgentID), point), nil
	}
	return keys.ParseSPKI(a.PublicKey)
}
