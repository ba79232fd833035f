package keys

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"math/big"
)

// An rsaSignature is the result of the RSA public-key operation on a signature. Computing the result costs one operation; isPKCS1 and isPSS
// then compare it with any number of texts, whereas crypto/rsa would repeat the operation for each comparison. Only SHA-256 is supported.
// See RFC 8017, section 5.2.2.
type rsaSignature struct {
	encoded []byte // as long as the modulus; nil if the signature is out of range
	// salt and hash are those of PSS; hash is nil if the padding is not PSS.
	salt, hash []byte
}

// openRSA applies the public-key operation to a signature. The key must be one that checkRSA accepts.
func openRSA(public *rsa.PublicKey, signature []byte) rsaSignature {
	s := new(big.Int).SetBytes(signature)
	if len(signature) != public.Size() || s.Cmp(public.N) >= 0 {
		return rsaSignature{}
	}
	o := rsaSignature{encoded: make([]byte, public.Size())}
	s.Exp(s, big.NewInt(int64(public.E)), public.N).FillBytes(o.encoded)
	o.salt, o.hash = unpadPSS(o.encoded, public.N.BitLen()-1)
	return o
}

// digestInfo is the DER of a DigestInfo of SHA-256 up to the hash itself. RFC 8017 9.2, note 1.
var digestInfo = []byte{0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20}

// isPKCS1 reports whether the signature signs the text with this sum under RSASSA-PKCS1-v1_5. See RFC 8017, sections 8.2.2 and 9.2.
func (o rsaSignature) isPKCS1(sum [sha256.Size]byte) bool {
	padding := len(o.encoded) - len(digestInfo) - len(sum) - 3
	if padding < 8 {
		return false
	}
	want := append([]byte{0, 1}, bytes.Repeat([]byte{0xff}, padding)...)
	want = append(append(append(want, 0), digestInfo...), sum[:]...)
	return subtle.ConstantTimeCompare(want, o.encoded) == 1
}

// isPSS reports whether the signature signs the text with this sum under RSASSA-PSS, with a salt of any length. See RFC 8017, sections
// 8.1.2, 9.1.2.
func (o rsaSignature) isPSS(sum [sha256.Size]byte) bool {
	if o.hash == nil {
		return false
	}
	h := sha256.New()
	h.Write(make([]byte, 8))
	h.Write(sum[:])
	h.Write(o.salt)
	return subtle.ConstantTimeCompare(h.Sum(nil), o.hash) == 1
}

// unpadPSS returns the salt and the hash of an encoded message that, read as an integer, has at most bits bits. It returns nil, nil if
// the padding is not that of PSS with MGF1. RFC 8017 9.1.2, steps 3 to 11.
func unpadPSS(encoded []byte, bits int) (salt, hash []byte) {
	length := (bits + 7) / 8
	for _, b := range encoded[:len(encoded)-length] {
		if b != 0 {
			return nil, nil
		}
	}
	encoded = encoded[len(encoded)-length:]
	split := length - sha256.Size - 1
	unused := 8*length - bits // leftmost bits, which are 0
	if split < 1 || encoded[length-1] != 0xbc || encoded[0]>>(8-unused) != 0 {
		return nil, nil
	}
	hash = encoded[split : length-1]
	db := mgf1(hash, split)
	subtle.XORBytes(db, db, encoded[:split])
	db[0] &= 0xff >> unused
	padding := bytes.TrimLeft(db, "\x00")
	if len(padding) == 0 || padding[0] != 1 {
		return nil, nil
	}
	return padding[1:], hash
}

// mgf1 returns a mask of length bytes. RFC 8017 B.2.1.
func mgf1(seed []byte, length int) []byte {
	var mask []byte
	for counter := uint32(0); len(mask) < length; counter++ {
		sum := sha256.Sum256(binary.BigEndian.AppendUint32(bytes.Clone(seed), counter))
		mask = append(mask, sum[:]...)
	}
	return mask[:length]
}
