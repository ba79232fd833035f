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

// An Address is the address of an agent or a user, as returned by ParseAddress, NewAgent or NewUser. Equal addresses identify the same
// party. The zero Address does not identify any party.
type Address string

// NewAgent returns the address of the agent with the given public key, which is compressed and has 33 bytes. The error wraps ErrPrefix.
func NewAgent(public []byte) (Address, error) {
	if _, err := agentKey(public); err != nil {
		return "", err
	}
	return Address(encode(prefixAgent, public)), nil
}

// NewUser returns the address of the user with the given id, which the user chooses freely.
func NewUser(id [sizeUser]byte) Address { return Address(encode(prefixUser, id[:])) }

// ParseAddress parses agent1… (65 characters) or user1… (63 characters). The error wraps ErrBech32 or ErrPrefix.
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
		return "", fmt.Errorf("invalid address: %w", err)
	}
	return Address(text), nil
}

func agentKey(public []byte) (*secp256k1.PublicKey, error) {
	if len(public) != secp256k1.PubKeyBytesLenCompressed {
		return nil, fmt.Errorf("%w: a key must be compressed, with 33 bytes", ErrPrefix)
	}
	key, err := secp256k1.ParsePubKey(public)
	if err != nil {
		return nil, fmt.Errorf("%w: the key is not a point on secp256k1", ErrPrefix)
	}
	return key, nil
}

// Agent reports whether the address is that of an agent and so encodes a key. The address of a user encodes no key, and proves nothing
// about the sender.
func (a Address) Agent() bool { return strings.HasPrefix(string(a), prefixAgent) }

// PublicKey returns the compressed public key of an agent, which has 33 bytes, or nil for a user.
func (a Address) PublicKey() []byte {
	public, err := decode(prefixAgent, string(a), secp256k1.PubKeyBytesLenCompressed)
	if err != nil {
		return nil
	}
	return public
}

// Verify reports whether the signature was made with the agent's key over the SHA-256 digest. It accepts low and high values of S.
// It returns false for a user.
func (a Address) Verify(digest [32]byte, s Signature) bool {
	key, err := agentKey(a.PublicKey())
	if err != nil {
		return false
	}
	parsed, err := s.scalars()
	return err == nil && parsed.Verify(digest[:], key)
}

// Point returns the key of an agent as an uncompressed point of 65 bytes, which SubjectPublicKeyInfo and JWK use. It returns nil for a
// user. See SEC 1, section 2.3.3.
func (a Address) Point() []byte {
	key, err := agentKey(a.PublicKey())
	if err != nil {
		return nil
	}
	return key.SerializeUncompressed()
}
