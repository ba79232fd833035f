package identity

import (
	"fmt"
	"strings"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
)

const (
	prefixAgent = "agent"
	prefixUser  = "user"
	sizeUser    = 32
)

// An Address is the bare address of an agent or a user, made by ParseAddress, NewAgent or NewUser. Equal addresses mean the same party.
// The zero Address belongs to no party.
type Address string

// NewAgent returns the address of the agent with that public key: 33 bytes, compressed. The error is of kind ErrPrefix.
func NewAgent(public []byte) (Address, error) {
	if _, err := agentKey(public); err != nil {
		return "", err
	}
	return Address(encode(prefixAgent, public)), nil
}

// NewUser returns the address of a user: 32 bytes that the user chose.
func NewUser(id [sizeUser]byte) Address { return Address(encode(prefixUser, id[:])) }

// ParseAddress reads agent1… (65 characters) or user1… (63). The errors are of kind ErrBech32 or ErrPrefix.
func ParseAddress(text string) (Address, error) {
	if strings.HasPrefix(text, prefixUser) {
		_, err := decode(prefixUser, text, sizeUser)
		return valid(text, err)
	}
	public, err := decode(prefixAgent, text, secp256k1.PubKeyBytesLenCompressed)
	if err == nil {
		_, err = agentKey(public)
	}
	return valid(text, err)
}

func valid(text string, err error) (Address, error) {
	if err != nil {
		return "", fmt.Errorf("the address: %w", err)
	}
	return Address(text), nil
}

func agentKey(public []byte) (*secp256k1.PublicKey, error) {
	if len(public) != secp256k1.PubKeyBytesLenCompressed {
		return nil, fmt.Errorf("%w: a key has 33 bytes, compressed", ErrPrefix)
	}
	key, err := secp256k1.ParsePubKey(public)
	if err != nil {
		return nil, fmt.Errorf("%w: no point of secp256k1", ErrPrefix)
	}
	return key, nil
}

// Agent reports whether the address encodes a key. That of a user does not: it proves nothing about the sender.
func (a Address) Agent() bool { return strings.HasPrefix(string(a), prefixAgent) }

// PublicKey returns the key of an agent, 33 bytes, compressed; nil for a user.
func (a Address) PublicKey() []byte {
	public, err := decode(prefixAgent, string(a), secp256k1.PubKeyBytesLenCompressed)
	if err != nil {
		return nil
	}
	return public
}

// Verify reports whether the agent's key made the signature over a SHA-256 digest, with either of the two values of s. It returns false
// for a user.
func (a Address) Verify(digest [32]byte, s Signature) bool {
	key, err := agentKey(a.PublicKey())
	if err != nil {
		return false
	}
	parsed, err := s.scalars()
	return err == nil && parsed.Verify(digest[:], key)
}

// Point returns the key of an agent as an uncompressed point, 65 bytes, as used by SubjectPublicKeyInfo and JWK. It returns nil for a
// user. SEC 1 2.3.3.
func (a Address) Point() []byte {
	key, err := agentKey(a.PublicKey())
	if err != nil {
		return nil
	}
	return key.SerializeUncompressed()
}
