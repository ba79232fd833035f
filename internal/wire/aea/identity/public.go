// Package identity implements the keys of agents of the AEA framework, the addresses that are derived from the keys, and two statements
// that agents sign. An agent states that it agrees to a policy of a gateway, or that a node may represent it. All keys are on secp256k1.
// The encodings of keys, addresses and signatures depend on the agent's ledger.
//
//	key, err := identity.ParsePublicKey(identity.Fetchai, info["public_key"])
//	agreed := identity.Agreement{Gateway: gateway, Agent: sender, PolicySHA256: digest, Nonce: nonce}.SignedBy(key, info["signature"])
//
// Only one spelling of a key or a signature is accepted: hexadecimal digits are lowercase, and s is the lower of its two valid values. This
// package does not use private keys of agents; a Key is always a key of the gateway.
package identity

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/btcsuite/btcd/btcutil/bech32"
	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"golang.org/x/crypto/ripemd160" //nolint:staticcheck,gosec // the ledger derives addresses with it
	"golang.org/x/crypto/sha3"
)

// Errors of parsing keys. They never quote the input.
var (
	ErrLedger = errors.New("unknown ledger")
	ErrKey    = errors.New("not a secp256k1 key in the encoding of the ledger")
)

// A Ledger determines the encodings of an agent's keys, addresses and signatures.
type Ledger string

// The ledgers. Fetchai is the default of agents-aea, and Ethereum is the default of open-aea.
const (
	Fetchai  Ledger = "fetchai"
	Cosmos   Ledger = "cosmos"
	Ethereum Ledger = "ethereum"
)

// prefixes contains the prefix of each ledger whose addresses are in bech32.
var prefixes = map[Ledger]string{Fetchai: "fetch", Cosmos: "cosmos"}

// A PublicKey is a key in the encoding of one ledger. ParsePublicKey, ParsePoint and Key.Public return it. The zero PublicKey belongs to
// no agent.
type PublicKey struct {
	ledger Ledger
	point  *secp256k1.PublicKey
}

// ParsePublicKey parses a key. On Fetchai and Cosmos, a key is a compressed point in 66 hexadecimal digits. On Ethereum, it is 0x and 128
// hexadecimal digits: an uncompressed point without its first byte. The error is ErrLedger or ErrKey.
func ParsePublicKey(ledger Ledger, text string) (PublicKey, error) {
	if ledger != Ethereum && prefixes[ledger] == "" {
		return PublicKey{}, ErrLedger
	}
	digits, size := text, secp256k1.PubKeyBytesLenCompressed
	if ledger == Ethereum {
		digits, size = "04"+strings.TrimPrefix(text, "0x"), secp256k1.PubKeyBytesLenUncompressed
	}
	if len(digits) != 2*size || digits != strings.ToLower(digits) {
		return PublicKey{}, ErrKey
	}
	data, err := hex.DecodeString(digits)
	if err != nil {
		return PublicKey{}, ErrKey
	}
	point, err := secp256k1.ParsePubKey(data)
	if err != nil {
		return PublicKey{}, ErrKey
	}
	if k := (PublicKey{ledger, point}); k.String() == text {
		return k, nil
	}
	return PublicKey{}, ErrKey
}

// ParsePoint parses a key that is encoded as an uncompressed point of 65 bytes. The error is ErrLedger or ErrKey.
func ParsePoint(ledger Ledger, data []byte) (PublicKey, error) {
	if ledger != Ethereum && prefixes[ledger] == "" {
		return PublicKey{}, ErrLedger
	}
	point, err := secp256k1.ParsePubKey(data)
	if err != nil || len(data) != secp256k1.PubKeyBytesLenUncompressed || data[0] != 4 {
		return PublicKey{}, ErrKey
	}
	return PublicKey{ledger, point}, nil
}

// Point returns the key in the form that ParsePoint parses.
func (k PublicKey) Point() []byte {
	if k.point == nil {
		return nil
	}
	return k.point.SerializeUncompressed()
}

// LedgerOf returns the ledger of an address. ok is false if address is not the address of an agent. LedgerOf does not check the capitals in
// an Ethereum address.
func LedgerOf(address string) (ledger Ledger, ok bool) {
	if digits, found := strings.CutPrefix(address, "0x"); found {
		data, err := hex.DecodeString(digits)
		return Ethereum, err == nil && len(data) == 20
	}
	prefix, data, err := bech32.DecodeToBase256(address)
	for ledger, own := range prefixes {
		if err == nil && own == prefix && len(data) == ripemd160.Size && address == strings.ToLower(address) {
			return ledger, true
		}
	}
	return "", false
}

// String returns the key in the form that ParsePublicKey parses.
func (k PublicKey) String() string {
	if k.point == nil {
		return ""
	}
	if k.ledger == Ethereum {
		return "0x" + hex.EncodeToString(k.point.SerializeUncompressed()[1:])
	}
	return hex.EncodeToString(k.point.SerializeCompressed())
}

// Address returns the address of the agent with this key: fetch1… on Fetchai, cosmos1… on Cosmos, and 0x… on Ethereum, with the capitals
// of EIP-55.
func (k PublicKey) Address() string {
	if k.point == nil {
		return ""
	}
	if k.ledger == Ethereum {
		sum := keccak(k.point.SerializeUncompressed()[1:])
		return checksummed(hex.EncodeToString(sum[12:]))
	}
	sum := sha256.Sum256(k.point.SerializeCompressed())
	short := ripemd160.New() //nolint:gosec // as above
	_, _ = short.Write(sum[:])
	text, err := bech32.EncodeFromBase256(prefixes[k.ledger], short.Sum(nil))
	if err != nil {
		return "" // cannot occur: 20 bytes with a known prefix can always be encoded
	}
	return text
}

// checksummed returns an Ethereum address: 0x and the forty digits, with capitals that depend on the digest of all digits. EIP-55.
func checksummed(digits string) string {
	sum := hex.EncodeToString(keccak([]byte(digits)))
	out := []byte(digits)
	for i, c := range out {
		if c >= 'a' && sum[i] >= '8' {
			out[i] = c - 'a' + 'A'
		}
	}
	return "0x" + string(out)
}

// keccak returns the digest that Ethereum uses. It is older than SHA-3, and differs from it.
func keccak(data ...[]byte) []byte {
	h := sha3.NewLegacyKeccak256()
	for _, part := range data {
		_, _ = h.Write(part)
	}
	return h.Sum(nil)
}

// Verify reports whether the key made the signature over a message. On Fetchai and Cosmos, the signature is the base64 of r and s, over
// the SHA-256 of the message. On Ethereum, it is 0x and the hexadecimal digits of r, s and v, over the EIP-191 digest of the message, and
// v is 27 or 28. Verify accepts only the lower of the two valid values of s.
func (k PublicKey) Verify(message []byte, signature string) bool {
	if k.point == nil {
		return false
	}
	if k.ledger == Ethereum {
		return k.verifyEthereum(message, signature)
	}
	data, err := base64.StdEncoding.Strict().DecodeString(signature)
	if err != nil || len(signature) != 88 || len(data) != 64 {
		return false
	}
	parsed, err := lower(data)
	sum := sha256.Sum256(message)
	return err == nil && parsed.Verify(sum[:], k.point)
}

func (k PublicKey) verifyEthereum(message []byte, signature string) bool {
	digits, ok := strings.CutPrefix(signature, "0x")
	if !ok || len(digits) != 130 || digits != strings.ToLower(digits) {
		return false
	}
	data, err := hex.DecodeString(digits)
	if err != nil {
		return false
	}
	if _, err := lower(data[:64]); err != nil || data[64] != 27 && data[64] != 28 {
		return false
	}
	signer, _, err := ecdsa.RecoverCompact(append(data[64:65:65], data[:64]...), personal(message))
	return err == nil && signer.IsEqual(k.point)
}

// personal returns the digest that is signed for a message. EIP-191, version 0x45.
func personal(message []byte) []byte {
	return keccak(fmt.Appendf(nil, "\x19Ethereum Signed Message:\n%d", len(message)), message)
}

// lower parses r and s. It accepts only the lower of the two valid values of s.
func lower(data []byte) (*ecdsa.Signature, error) {
	var r, s secp256k1.ModNScalar
	if r.SetByteSlice(data[:32]) || s.SetByteSlice(data[32:64]) || r.IsZero() || s.IsZero() || s.IsOverHalfOrder() {
		return nil, ErrKey
	}
	return ecdsa.NewSignature(&r, &s), nil
}
