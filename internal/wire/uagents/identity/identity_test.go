package identity_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcutil/bech32"
	"github.com/decred/dcrd/dcrec/secp256k1/v4"

	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

const (
	alice = "agent1qf5gfqm48k9acegez3sg82ney2aa6l5fvpwh3n3z0ajh0nam3ssgwnn5me7"
	user  = "user1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnzs23v9ccrydpk8qarc0sxs5jpk"
	low   = "sig1r9x3a5q2p8ncftxlsfg7sqjaayzay57sk4qcewcqf8hfm02pqkwzvvl9ckfs0xzu2vtrvx4f6wx6ex2cqhxc040vjwzk8q85dknyregrmy7u0"
)

type vectors struct {
	Identities []struct {
		Seed       string
		Index      uint8
		PrivateKey string `json:"private_key"`
		PublicKey  string `json:"public_key"`
		Address    string
	}
	User       struct{ Bytes, Address string }
	Signatures []struct{ Address, Text, Digest, Signature string }
}

func read(t *testing.T) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v); err != nil || len(v.Identities) == 0 || len(v.Signatures) == 0 {
		t.Fatalf("the vectors: %v", err)
	}
	return v
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func bech(t *testing.T, prefix string, bytes []byte) string {
	t.Helper()
	text, err := bech32.EncodeFromBase256(prefix, bytes)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestKeyVectors(t *testing.T) {
	t.Parallel()
	v := read(t)
	for _, c := range v.Identities {
		key, err := identity.FromSeed(c.Seed, c.Index)
		if err != nil || string(key.Address()) != c.Address {
			t.Errorf("%q %d: %v %v; want %s", c.Seed, c.Index, key, err, c.Address)
		}
		given, err := identity.NewKey(unhex(t, c.PrivateKey))
		if err != nil || given.Address() != key.Address() {
			t.Errorf("%q %d: another private key: %v", c.Seed, c.Index, err)
		}
		address, err := identity.NewAgent(unhex(t, c.PublicKey))
		if err != nil || address != key.Address() || !address.Agent() || !slices.Equal(address.PublicKey(), unhex(t, c.PublicKey)) {
			t.Errorf("%s: %v %v", c.PublicKey, address, err)
		}
		point := address.Point()
		if compressed := unhex(t, c.PublicKey); len(point) != 65 || !bytes.Equal(point[1:33], compressed[1:]) || point[64]&1 != compressed[0]&1 {
			t.Errorf("%s: the point is %x", c.PublicKey, point)
		}
		if parsed, err := identity.ParseAddress(c.Address); err != nil || parsed != address {
			t.Errorf("%s: %v %v; want %v, nil", c.Address, parsed, err, address)
		}
	}
	someone, err := identity.ParseAddress(v.User.Address)
	if err != nil || someone != identity.NewUser([32]byte(unhex(t, v.User.Bytes))) || someone.Agent() ||
		someone.PublicKey() != nil || someone.Point() != nil {
		t.Errorf("the user: %v %v", someone, err)
	}
}

func TestSignatureVectors(t *testing.T) {
	t.Parallel()
	key, err := identity.FromSeed("alice recovery password", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range read(t).Signatures {
		from, err := identity.ParseAddress(c.Address)
		if err != nil {
			t.Fatal(err)
		}
		signature, err := identity.ParseSignature(c.Signature)
		digest := [32]byte(unhex(t, c.Digest))
		if err != nil || signature.String() != c.Signature || !from.Verify(digest, signature) {
			t.Errorf("%s: %v, or the signature does not verify", c.Signature, err)
		}
		if c.Text != "" && (sha256.Sum256([]byte(c.Text)) != digest || key.Sign(digest) != signature) {
			t.Errorf("%s: Sign returns another signature", c.Text)
		}
		digest[31] ^= 1
		if from.Verify(digest, signature) {
			t.Errorf("%s: the signature verifies over another digest", c.Signature)
		}
	}
}

// Each signature has a second form with the other s, and both are valid. So only the digest identifies a message.
func TestHighAndLowS(t *testing.T) {
	t.Parallel()
	key, err := identity.FromSeed("alice secret phrase", 0)
	if err != nil {
		t.Fatal(err)
	}
	other, err := identity.FromSeed("bob secret phrase", 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 32 {
		digest := sha256.Sum256([]byte{byte(i)})
		made := key.Sign(digest)
		if made != key.Sign(digest) {
			t.Fatal("Sign is not deterministic")
		}
		var s secp256k1.ModNScalar
		s.SetByteSlice(made[32:])
		if s.IsOverHalfOrder() {
			t.Errorf("%s: Sign returned the higher s", made)
		}
		second, v := made, s.Negate().Bytes()
		copy(second[32:], v[:])
		parsed, err := identity.ParseSignature(second.String())
		if err != nil || !key.Address().Verify(digest, made) || !key.Address().Verify(digest, parsed) {
			t.Errorf("%s, %s: %v, or one of them does not verify", made, second, err)
		}
		if other.Address().Verify(digest, made) || key.Address().Verify(digest, identity.Signature{}) {
			t.Error("another's signature or the zero signature verifies")
		}
	}
	if someone := identity.NewUser([32]byte(key.Address().PublicKey()[1:])); someone.Verify([32]byte{}, key.Sign([32]byte{})) {
		t.Error("a signature of a user verifies")
	}
}

func TestMalformedAddresses(t *testing.T) {
	t.Parallel()
	public := identity.Address(alice).PublicKey()
	long, err := secp256k1.ParsePubKey(public)
	if err != nil {
		t.Fatal(err)
	}
	five, err := bech32.ConvertBits(public, 8, 5, true)
	if err != nil {
		t.Fatal(err)
	}
	modified, err := bech32.EncodeM("agent", five)
	if err != nil {
		t.Fatal(err)
	}
	five[len(five)-1] |= 1 // 33 bytes leave one bit of padding
	padded, err := bech32.Encode("agent", five)
	if err != nil {
		t.Fatal(err)
	}
	offCurve := slices.Clone(public)
	for offCurve[32]++; ; offCurve[32]++ {
		if _, err := secp256k1.ParsePubKey(offCurve); err != nil {
			break
		}
	}
	hybrid := slices.Clone(public)
	hybrid[0] = 6
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"empty":            {"", identity.ErrBech32},
		"one byte changed": {strings.Replace(alice, "qf5g", "qf5q", 1), identity.ErrBech32},
		"all upper case":   {strings.ToUpper(alice), identity.ErrBech32},
		"mixed case":       {"Agent" + alice[5:], identity.ErrBech32},
		"upper-case user":  {strings.ToUpper(user), identity.ErrBech32},
		"a space":          {alice + " ", identity.ErrBech32},
		"a line break":     {alice + "\n", identity.ErrBech32},
		"bech32m":          {modified, identity.ErrBech32},
		"bits of padding":  {padded, identity.ErrBech32},
		"very long":        {strings.Repeat("q", 1<<20), identity.ErrBech32},
		"another alphabet": {strings.Replace(alice, "gez3", "gezе", 1), identity.ErrBech32},
		"with a network":   {"agent://" + alice, identity.ErrBech32},
		"test prefix":      {bech(t, "test-agent", public), identity.ErrPrefix},
		"a ledger":         {bech(t, "fetch", public[:20]), identity.ErrPrefix},
		"a signature":      {low, identity.ErrPrefix},
		"not compressed":   {bech(t, "agent", long.SerializeUncompressed()), identity.ErrPrefix},
		"64 bytes":         {bech(t, "agent", long.SerializeUncompressed()[1:]), identity.ErrPrefix},
		"32 bytes":         {bech(t, "agent", public[1:]), identity.ErrPrefix},
		"off the curve":    {bech(t, "agent", offCurve), identity.ErrPrefix},
		"hybrid":           {bech(t, "agent", hybrid), identity.ErrPrefix},
		"a user of 33":     {bech(t, "user", public), identity.ErrPrefix},
		"no data":          {bech(t, "agent", nil), identity.ErrPrefix},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := identity.ParseAddress(c.text)
			if a != "" || !errors.Is(err, identity.ErrBech32) && !errors.Is(err, identity.ErrPrefix) {
				t.Errorf("got %q, %v", a, err)
			}
			if len(c.text) < 128 && !errors.Is(err, c.want) {
				t.Errorf("%v; want %v", err, c.want)
			}
			if len(c.text) > 8 && strings.Contains(err.Error(), c.text[6:]) {
				t.Errorf("the error quotes the text: %v", err)
			}
		})
	}
	for _, public := range [][]byte{nil, public[1:], long.SerializeUncompressed(), offCurve, hybrid} {
		if a, err := identity.NewAgent(public); a != "" || !errors.Is(err, identity.ErrPrefix) {
			t.Errorf("%x: %q, %v; want an empty string, %v", public, a, err, identity.ErrPrefix)
		}
	}
}

func TestMalformedSignatures(t *testing.T) {
	t.Parallel()
	good, err := identity.ParseSignature(low)
	if err != nil {
		t.Fatal(err)
	}
	order := secp256k1.Params().N.Bytes()
	part := func(r, s []byte) string { return bech(t, "sig", append(slices.Clone(r), s...)) }
	zero := make([]byte, 32)
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"r is 0":         {part(zero, good[32:]), identity.ErrPrefix},
		"s is 0":         {part(good[:32], zero), identity.ErrPrefix},
		"r is the order": {part(order, good[32:]), identity.ErrPrefix},
		"s is the order": {part(good[:32], order), identity.ErrPrefix},
		"s is huge":      {part(good[:32], []byte(strings.Repeat("\xff", 32))), identity.ErrPrefix},
		"63 bytes":       {bech(t, "sig", good[:63]), identity.ErrPrefix},
		"65 bytes":       {bech(t, "sig", append(good[:], 1)), identity.ErrPrefix},
		"another prefix": {bech(t, "agent", good[:]), identity.ErrPrefix},
		"mixed case":     {"Sig" + low[3:], identity.ErrBech32},
		"all upper case": {strings.ToUpper(low), identity.ErrBech32},
		"hex":            {hex.EncodeToString(good[:]), identity.ErrBech32},
		"empty":          {"", identity.ErrBech32},
	} {
		if s, err := identity.ParseSignature(c.text); s != (identity.Signature{}) || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, s, err, c.want)
		}
	}
}

func TestInvalidKeys(t *testing.T) {
	t.Parallel()
	for name, private := range map[string][]byte{
		"0": make([]byte, 32), "the order": secp256k1.Params().N.Bytes(), "31 bytes": make([]byte, 31), "33 bytes": make([]byte, 33), "none": nil,
	} {
		if _, err := identity.NewKey(private); !errors.Is(err, identity.ErrKey) {
			t.Errorf("%s: %v, want %v", name, err, identity.ErrKey)
		}
	}
	for _, seed := range []string{"", "\xff"} {
		if _, err := identity.FromSeed(seed, 0); !errors.Is(err, identity.ErrKey) {
			t.Errorf("%q: %v, want %v", seed, err, identity.ErrKey)
		}
	}
	var none identity.Key
	if none.Address() != "" || none.Sign([32]byte{1}) != (identity.Signature{}) {
		t.Error("the zero key has an address or signs")
	}
}

func TestKeyPrintsAddress(t *testing.T) {
	t.Parallel()
	v := read(t).Identities[0]
	key, err := identity.FromSeed(v.Seed, v.Index)
	if err != nil {
		t.Fatal(err)
	}
	inside := struct{ Key identity.Key }{key}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		for _, value := range []any{key, &key, inside, []identity.Key{key}} {
			text := fmt.Sprintf(format, value)
			if strings.Contains(text, v.PrivateKey) || strings.Contains(text, v.PrivateKey[:16]) {
				t.Errorf("%s prints the private key", format)
			}
		}
	}
	if text := fmt.Sprintf("%v %#v", key, key); text != v.Address+" "+v.Address {
		t.Errorf("got %v, want %v", text, v.Address+" "+v.Address)
	}
}

func TestIdentifiers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]identity.Identifier{
		alice:                                  {Address: alice},
		"agent://" + alice:                     {Network: identity.Mainnet, Address: alice},
		"test-agent://" + alice:                {Network: identity.Testnet, Address: alice},
		"agent://shop.agent/" + alice:          {Network: identity.Mainnet, Name: "shop.agent", Address: alice},
		"shop/" + alice:                        {Name: "shop", Address: alice},
		"test-agent://shop.agent":              {Network: identity.Testnet, Name: "shop.agent"},
		"agents":                               {Name: "agents"},
		"shop":                                 {Name: "shop"},
		strings.Repeat("n", 128) + "/" + alice: {Name: strings.Repeat("n", 128), Address: alice},
	} {
		if i, err := identity.ParseIdentifier(text); err != nil || i != want || i.String() != text {
			t.Errorf("%s: %+v, %v", text, i, err)
		}
	}
	for _, text := range []string{
		"", "agent://", "://" + alice, "user://" + alice, "Agent://" + alice, "agent://test-agent://" + alice, "shop/", "/" + alice, "shop/x", "a b",
		"shop/extra/" + alice, "shöp", alice + "/" + alice, alice[:64], "shop/" + user, "http://127.0.0.1", strings.Repeat("n", 129),
		"agent://" + strings.ToUpper(alice) + "/x", "agent1", "shop/" + alice + "/",
	} {
		if i, err := identity.ParseIdentifier(text); err == nil || i != (identity.Identifier{}) {
			t.Errorf("%s: got %+v, %v; want an error and %+v", text, i, err, identity.Identifier{})
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add(alice)
	f.Add(user)
	f.Add(strings.ToUpper(alice))
	f.Fuzz(func(t *testing.T, text string) {
		a, err := identity.ParseAddress(text)
		if (err == nil) == (a == "") || err == nil && string(a) != text {
			t.Errorf("got %q, %v", a, err)
		}
		if again, err := identity.NewAgent(a.PublicKey()); a.Agent() && (err != nil || again != a) {
			t.Errorf("%q is %q again, %v", a, again, err)
		}
	})
}

func FuzzParseSignature(f *testing.F) {
	f.Add(low)
	f.Add(strings.ToUpper(low))
	f.Fuzz(func(t *testing.T, text string) {
		s, err := identity.ParseSignature(text)
		if (err == nil) == (s == identity.Signature{}) || err == nil && s.String() != text {
			t.Errorf("got %q, %v", s, err)
		}
	})
}

func FuzzParseIdentifier(f *testing.F) {
	f.Add("test-agent://shop.agent/" + alice)
	f.Add("shop")
	f.Fuzz(func(t *testing.T, text string) {
		i, err := identity.ParseIdentifier(text)
		if (err == nil) == (i == identity.Identifier{}) || err == nil && i.String() != text {
			t.Errorf("%q: %+v, %v", text, i, err)
		}
	})
}
