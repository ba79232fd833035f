package identity

import (
	"errors"
	"strings"

	"github.com/uimgate/uimgate/internal/wire/aea/acn"
)

// An Agreement is what an agent agrees to in a negotiation: with this gateway, to this policy, once.
type Agreement struct {
	Gateway      string // its address
	Agent        string // its address
	PolicySHA256 string // of the bytes of the policy, in hexadecimal digits
	Nonce        string // of the offer, made by the gateway and used once
}

// form begins the text, so that it cannot be mistaken for another.
const form = "uim-aea-1"

// Text returns the signed text: five lines without a line feed after the last.
func (a Agreement) Text() []byte {
	return []byte(strings.Join([]string{form, a.Gateway, a.Agent, a.PolicySHA256, a.Nonce}, "\n"))
}

// ParseAgreement reads what Text returns. ok is false for any other text.
func ParseAgreement(text []byte) (a Agreement, ok bool) {
	parts := strings.Split(string(text), "\n")
	if len(parts) != 5 || parts[0] != form {
		return Agreement{}, false
	}
	return Agreement{Gateway: parts[1], Agent: parts[2], PolicySHA256: parts[3], Nonce: parts[4]}, true
}

// SignedBy reports whether the agent agrees: the key is the one of its address, and has made the signature over the text. It returns
// false if a part has a line feed or is empty, because the text could then mean something else.
func (a Agreement) SignedBy(key PublicKey, signature string) bool {
	for _, part := range []string{a.Gateway, a.Agent, a.PolicySHA256, a.Nonce} {
		if part == "" || strings.Contains(part, "\n") {
			return false
		}
	}
	return key.point != nil && key.Address() == a.Agent && key.Verify(a.Text(), signature)
}

// Represents returns a node's response to a registering agent: acn.Success if the record proves that the agent with the record's address
// permits the node with this key to represent it. The key is that of Key.Public on Fetchai. The record does not prove that the agent is
// there now, because it is the same in every session.
func Represents(r acn.Record, node PublicKey) acn.Code {
	key, err := ParsePublicKey(Ledger(r.Ledger), r.PublicKey)
	switch {
	case errors.Is(err, ErrLedger):
		return acn.UnsupportedLedger
	case node.point == nil || r.PeerPublicKey != node.String():
		return acn.WrongPublicKey
	case err != nil || key.Address() != r.Address:
		return acn.WrongAgentAddress
	case !key.Verify([]byte(r.PeerPublicKey), r.Signature):
		return acn.InvalidProof
	default:
		return acn.Success
	}
}
