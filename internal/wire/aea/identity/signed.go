package identity

import (
	"errors"
	"strings"

	"github.com/uimgate/uimgate/internal/wire/aea/acn"
)

// An Agreement is the statement with which an agent agrees, once, to one policy of this gateway in a negotiation.
type Agreement struct {
	Gateway      string // the gateway's address
	Agent        string // the agent's address
	PolicySHA256 string // SHA-256 of the bytes of the policy, in hexadecimal digits
	Nonce        string // from the gateway's offer; used only once
}

// form is the first line of the signed text. It distinguishes the text from all others that an agent may sign.
const form = "uim-aea-1"

// Text returns the signed text: five lines, without a line feed at the end.
func (a Agreement) Text() []byte {
	return []byte(strings.Join([]string{form, a.Gateway, a.Agent, a.PolicySHA256, a.Nonce}, "\n"))
}

// ParseAgreement parses the result of Text. ok is false if text does not have the form of such a result.
func ParseAgreement(text []byte) (a Agreement, ok bool) {
	parts := strings.Split(string(text), "\n")
	if len(parts) != 5 || parts[0] != form {
		return Agreement{}, false
	}
	return Agreement{Gateway: parts[1], Agent: parts[2], PolicySHA256: parts[3], Nonce: parts[4]}, true
}

// SignedBy reports whether the agent has signed the agreement: the key belongs to the agent's address and made the signature over the
// text. It returns false if a field is empty or contains a line feed, because the text would then be ambiguous.
func (a Agreement) SignedBy(key PublicKey, signature string) bool {
	for _, part := range []string{a.Gateway, a.Agent, a.PolicySHA256, a.Nonce} {
		if part == "" || strings.Contains(part, "\n") {
			return false
		}
	}
	return key.point != nil && key.Address() == a.Agent && key.Verify(a.Text(), signature)
}

// Represents returns the code with which a node responds to an agent that registers. It is acn.Success if the record proves that the agent
// with the record's address permits the node to represent it. node is the node's key from Key.Public on Fetchai. The record does not prove
// that the agent is connected now, because the agent uses the same record in every session.
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
