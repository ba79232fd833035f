package facilitatortest

import (
	"encoding/hex"
	"math/big"
	"strings"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"golang.org/x/crypto/sha3"
)

const (
	domainType = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
	authorized = "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
)

func keccak(parts ...[]byte) []byte {
	h := sha3.NewLegacyKeccak256()
	for _, p := range parts {
		_, _ = h.Write(p)
	}
	return h.Sum(nil)
}

// word encodes a decimal number, an address or a word in 32 bytes.
func word(text string) []byte {
	n := new(big.Int)
	if digits, is := strings.CutPrefix(text, "0x"); is {
		n.SetString(digits, 16)
	} else {
		n.SetString(text, 10)
	}
	return n.FillBytes(make([]byte, 32))
}

// digest returns the digest that a payer signs: EIP-712, with the type of EIP-3009.
func digest(a authorization, r requirements) []byte {
	domain := keccak(keccak([]byte(domainType)), keccak([]byte(r.Extra["name"])), keccak([]byte(r.Extra["version"])),
		word(strings.TrimPrefix(r.Network, "eip155:")), word(r.Asset))
	message := keccak(keccak([]byte(authorized)), word(a.From), word(a.To), word(a.Value), word(a.ValidAfter), word(a.ValidBefore),
		word(a.Nonce))
	return keccak([]byte{0x19, 0x01}, domain, message)
}

// signer returns the address whose key made a signature, in lower case, or "" if the signature is not valid.
func signer(a authorization, r requirements, signature string) string {
	raw, err := hex.DecodeString(strings.TrimPrefix(signature, "0x"))
	if err != nil || len(raw) != 65 {
		return ""
	}
	compact := append([]byte{raw[64]}, raw[:64]...)
	if compact[0] < 27 {
		compact[0] += 27
	}
	key, _, err := ecdsa.RecoverCompact(compact, digest(a, r))
	if err != nil {
		return ""
	}
	return addressOf(key)
}

func addressOf(key *secp256k1.PublicKey) string {
	return "0x" + hex.EncodeToString(keccak(key.SerializeUncompressed()[1:])[12:])
}
