package eddsa_test

import (
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"filippo.io/edwards25519"

	"github.com/uimgate/uimgate/pat/internal/eddsa"
)

// torsion are the encodings of the points of small order, also those that RFC 8032 5.1.3 has no point for and some libraries do.
var torsion = unhex(
	"0100000000000000000000000000000000000000000000000000000000000000",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0000000000000000000000000000000000000000000000000000000000000080",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
	"0100000000000000000000000000000000000000000000000000000000000080",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
)

// order is l, the order of the base point, little endian.
var order = unhex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")[0]

func unhex(texts ...string) (out [][]byte) {
	for _, s := range texts {
		b, err := hex.DecodeString(s)
		if err != nil {
			panic(err)
		}
		out = append(out, b)
	}
	return out
}

// sameDecision fails unless both verify, or neither.
func sameDecision(t *testing.T, public, message, signature []byte) bool {
	t.Helper()
	want := ed25519.Verify(public, message, signature)
	for _, prepared := range []*eddsa.Prepared{nil, eddsa.Prepare(public)} {
		if got := eddsa.Verify(public, prepared, message, signature); got != want {
			t.Errorf("key %x (prepared: %v), message %x, signature %x: %v, want %v", public, prepared != nil, message, signature, got, want)
		}
	}
	return want
}

// What verifies by the equation with the cofactor alone, or with points that have several encodings, verifies as in the standard library.
func TestOddSignaturesVerifyAsInTheStandardLibrary(t *testing.T) {
	t.Parallel()
	verified, refused := 0, 0
	count := func(public, message, signature []byte) {
		if sameDecision(t, public, message, signature) {
			verified++
		} else {
			refused++
		}
	}
	for i := range 16 {
		message := fmt.Appendf(nil, "message %d", i)
		for _, a := range torsion {
			for _, r := range torsion {
				for _, s := range [][]byte{make([]byte, 32), order} {
					count(a, message, slices.Concat(r, s))
				}
			}
		}
		if verified == 0 || refused == 0 {
			t.Fatalf("of signatures with points of small order %d verify and %d do not", verified, refused)
		}
	}
	verified, refused = 0, 0
	for i := range byte(32) {
		for _, of := range torsion[:8] { // keys that have a part of small order
			public, signature := mixed(t, i, of, []byte("message"))
			count(public, []byte("message"), signature)
		}
	}
	if verified == 0 || refused == 0 {
		t.Fatalf("of signatures with mixed keys %d verify and %d do not", verified, refused)
	}
}

// mixed signs with a key to which a point of small order was added. The signature verifies where its part of small order goes away.
func mixed(t *testing.T, seed byte, small, message []byte) (public, signature []byte) {
	t.Helper()
	wide := sha512.Sum512([]byte{seed})
	a, err := edwards25519.NewScalar().SetUniformBytes(wide[:])
	if err != nil {
		t.Fatal(err)
	}
	low, err := new(edwards25519.Point).SetBytes(small)
	if err != nil {
		t.Fatal(err)
	}
	public = new(edwards25519.Point).Add(new(edwards25519.Point).ScalarBaseMult(a), low).Bytes()
	wide = sha512.Sum512([]byte{seed, 1})
	r, err := edwards25519.NewScalar().SetUniformBytes(wide[:])
	if err != nil {
		t.Fatal(err)
	}
	point := new(edwards25519.Point).ScalarBaseMult(r).Bytes()
	wide = sha512.Sum512(slices.Concat(point, public, message))
	k, err := edwards25519.NewScalar().SetUniformBytes(wide[:])
	if err != nil {
		t.Fatal(err)
	}
	return public, append(point, edwards25519.NewScalar().MultiplyAdd(k, a, r).Bytes()...)
}

// FuzzVerify holds what verifies a signature against the standard library: as it is made, and changed in one place.
func FuzzVerify(f *testing.F) {
	f.Add([]byte("seed"), []byte("message"), uint16(0), byte(0))
	f.Add([]byte("seed"), []byte("message"), uint16(7), byte(0x80))
	f.Add([]byte("seed"), []byte("message"), uint16(255), byte(1))
	f.Add([]byte("seed"), []byte("message"), uint16(520), byte(0x10))
	f.Fuzz(func(t *testing.T, seed, message []byte, at uint16, flip byte) {
		sum := sha512.Sum512_256(seed)
		private := ed25519.NewKeyFromSeed(sum[:])
		public := slices.Clone(private[ed25519.SeedSize:])
		signature := ed25519.Sign(private, message)
		all := [][]byte{signature, public, message}
		for _, part := range all {
			if int(at) < len(part) {
				part[at] ^= flip
				break
			}
			at -= uint16(min(len(part), int(at)))
		}
		sameDecision(t, public, message, signature)
		higher := slices.Clone(signature) // s + l, which is the same modulo l
		carry := 0
		for i, b := range order {
			carry += int(higher[32+i]) + int(b)
			higher[32+i], carry = byte(carry), carry>>8
		}
		sameDecision(t, public, message, higher)
		sameDecision(t, public, message, signature[:len(signature)-1])
	})
}

func BenchmarkVerify(b *testing.B) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		b.Fatal(err)
	}
	message := make([]byte, 500)
	signature := ed25519.Sign(private, message)
	prepared := eddsa.Prepare(public)
	for name, verify := range map[string]func(ed25519.PublicKey, []byte, []byte) bool{
		"prepared": func(k ed25519.PublicKey, m, s []byte) bool { return eddsa.Verify(k, prepared, m, s) },
		"any key":  func(k ed25519.PublicKey, m, s []byte) bool { return eddsa.Verify(k, nil, m, s) },
		"standard": ed25519.Verify,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !verify(public, message, signature) {
					b.Fatal("it does not verify")
				}
			}
		})
	}
}
