package keys

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"fmt"
	"math/big"
	"testing"
)

// The package accepts the same signatures as crypto/rsa for both paddings: valid ones, and ones that differ in one byte of the encoded
// message.
func TestRSASignaturesMatchStandardLibrary(t *testing.T) {
	t.Parallel()
	for _, bits := range []int{2048, 2049, 2055, 3072} {
		t.Run(fmt.Sprintf("%d bits", bits), func(t *testing.T) {
			t.Parallel()
			key, err := rsa.GenerateKey(rand.Reader, bits)
			if err != nil {
				t.Fatal(err)
			}
			right, wrong := sha256.Sum256([]byte("the policy")), sha256.Sum256([]byte("another"))
			for name, signature := range signatures(t, key, right) {
				for _, i := range []int{0, 1, 2, 10, 100, len(signature) - 40, len(signature) - 33, len(signature) - 20, len(signature) - 1} {
					checkRSASignature(t, name, key, changed(key, signature, i), right)
				}
				checkRSASignature(t, name, key, signature, right)
				checkRSASignature(t, name, key, signature, wrong)
				above := new(big.Int).Add(new(big.Int).SetBytes(signature), key.N)
				if above.BitLen() <= 8*len(signature) {
					checkRSASignature(t, name+" above the modulus", key, above.FillBytes(make([]byte, len(signature))), right)
				}
				checkRSASignature(t, name+" cut", key, signature[1:], right)
			}
		})
	}
}

func signatures(t *testing.T, key *rsa.PrivateKey, sum [sha256.Size]byte) map[string][]byte {
	t.Helper()
	pkcs1, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{"PKCS#1": pkcs1, "zeros": make([]byte, len(pkcs1)), "ones": bytes.Repeat([]byte{0xff}, len(pkcs1))}
	for _, salt := range []int{1, 20, 32, 64, rsa.PSSSaltLengthAuto} {
		pss, err := rsa.SignPSS(rand.Reader, key, crypto.SHA256, sum[:], &rsa.PSSOptions{SaltLength: salt})
		if err != nil {
			t.Fatal(err)
		}
		out[fmt.Sprintf("PSS with a salt of %d", salt)] = pss
	}
	return out
}

// changed signs an encoded message that differs from a signature's in byte i.
func changed(key *rsa.PrivateKey, signature []byte, i int) []byte {
	n := key.N
	encoded := new(big.Int).Exp(new(big.Int).SetBytes(signature), big.NewInt(int64(key.E)), n).FillBytes(make([]byte, len(signature)))
	encoded[i] ^= 1
	m := new(big.Int).SetBytes(encoded)
	m.Mod(m, n)
	return m.Exp(m, key.D, n).FillBytes(make([]byte, len(signature)))
}

func checkRSASignature(t *testing.T, name string, key *rsa.PrivateKey, signature []byte, sum [sha256.Size]byte) {
	t.Helper()
	opened := openRSA(&key.PublicKey, signature)
	pkcs1 := rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], signature) == nil
	pss := rsa.VerifyPSS(&key.PublicKey, crypto.SHA256, sum[:], signature, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthAuto}) == nil
	if opened.isPKCS1(sum) != pkcs1 || opened.isPSS(sum) != pss {
		t.Fatalf("%s: PKCS#1 %t, PSS %t; crypto/rsa: %t, %t", name, opened.isPKCS1(sum), opened.isPSS(sum), pkcs1, pss)
	}
}
