package identity_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	dcrec "github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"

	"github.com/uimgate/uimgate/internal/wire/aea/acn"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
)

// The keys of the vectors: the number 1, a key that the framework has published for tests, and the key in the documentation of eth-account.
const (
	one       = "0000000000000000000000000000000000000000000000000000000000000001"
	published = "6d8d2b87d987641e2ca3f1991c1cccf08a118759e81fabdbf7e8484f27af015e"
	accounts  = "b25c7db31feed9122727bf0939dc769a96564b2de4c4726d035b36ecf1e5b364"
)

// A node, and the signature of the agent with the published key that lets the node represent it.
const (
	node           = "0217a59bd805c310aca4febe0e99ce22ee3712ae085dc1e5630430b1e15a584bb7"
	representation = "avzHfL/fjMidvweJJKjtBUiqJ2+6aDUq8MoNRBi9nDI/lWleIX3ftRf6Sx5UWmxcS0SW03IVrf1iKTXA5zeA0g=="
)

func key(t *testing.T, digits string) identity.Key {
	t.Helper()
	data, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	k, err := identity.NewKey(data)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestAddresses(t *testing.T) {
	for _, row := range []struct {
		private string
		ledger  identity.Ledger
		address string
	}{
		{one, identity.Fetchai, "fetch1w508d6qejxtdg4y5r3zarvary0c5xw7kfq77d0"},
		{one, identity.Cosmos, "cosmos1w508d6qejxtdg4y5r3zarvary0c5xw7k6ah60c"},
		{one, identity.Ethereum, "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"},
		{published, identity.Fetchai, "fetch1x9v67meyfq4pkgy2n2yf6797cfkul327kpclqr"},
		{published, identity.Cosmos, "cosmos1x9v67meyfq4pkgy2n2yf6797cfkul3279u3mz5"},
		{published, identity.Ethereum, "0x23377282AC9D363BD4D2aa89dE200B2040da5FDb"},
	} {
		public := key(t, row.private).Public(row.ledger)
		if got := public.Address(); got != row.address {
			t.Errorf("%s: %s, want %s", row.ledger, got, row.address)
		}
		again, err := identity.ParsePublicKey(row.ledger, public.String())
		if err != nil || again.Address() != row.address {
			t.Errorf("%s: %v, %v", row.ledger, again, err)
		}
	}
	const compressed = "02ac514ba70de60ed5c30f90e3acdfc958ecb416d9676706bf013228abfb2c2816"
	if got := key(t, published).Public(identity.Fetchai).String(); got != compressed {
		t.Errorf("got %v, want %v", got, compressed)
	}
}

func TestSignatureVectors(t *testing.T) {
	for name, row := range map[string]struct {
		private string
		ledger  identity.Ledger
		message string
		want    string
	}{
		"ledger of Fetch.ai": {published, identity.Fetchai, node, representation},
		"eth-account": {
			accounts, identity.Ethereum, "I♥SF",
			"0xe6ca9bba58c88611fad66a6ce8f996908195593807c4b38bd528d2cff09d4eb33e5bfbbf4d3e39b1a2fd816a7680c19ebebaf3a141b239934ad43cb33fcec8ce1c",
		},
	} {
		k := key(t, row.private)
		if got := k.Sign(row.ledger, []byte(row.message)); got != row.want {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
		if !k.Public(row.ledger).Verify([]byte(row.message), row.want) {
			t.Errorf("%s: the signature does not verify", name)
		}
	}
}

func TestAgreement(t *testing.T) {
	agent, other := key(t, published), key(t, one)
	good := identity.Agreement{
		Gateway: other.Public(identity.Fetchai).Address(), Agent: agent.Public(identity.Fetchai).Address(),
		PolicySHA256: strings.Repeat("a", 64), Nonce: "offer-1",
	}
	const signature = "ezEf5tzeadHf5Tegi01bt1IbDWgEw8R7L6Is2tacQM53Gu0itC98eqE+/0svT+ZjZ8kdxq7/Odlia1jdLST0mA=="
	if got := agent.Sign(identity.Fetchai, good.Text()); got != signature {
		t.Errorf("%s of %q; want %v", got, good.Text(), signature)
	}
	if !good.SignedBy(agent.Public(identity.Fetchai), signature) {
		t.Error("the agreement of the framework's own key is refused")
	}
	for name, change := range map[string]func(*identity.Agreement){
		"with another gateway":     func(a *identity.Agreement) { a.Gateway = "gw" },
		"of another agent":         func(a *identity.Agreement) { a.Agent = a.Gateway },
		"to another policy":        func(a *identity.Agreement) { a.PolicySHA256 = strings.Repeat("b", 64) },
		"to another offer":         func(a *identity.Agreement) { a.Nonce = "offer-2" },
		"on another ledger":        func(a *identity.Agreement) { a.Agent = agent.Public(identity.Cosmos).Address() },
		"with lines put elsewhere": func(a *identity.Agreement) { a.PolicySHA256, a.Nonce = a.PolicySHA256+"\n"+a.Nonce, "" },
	} {
		a := good
		change(&a)
		if a.SignedBy(agent.Public(identity.Fetchai), signature) {
			t.Errorf("the signature is valid for an agreement %s", name)
		}
	}
	// With its lines split differently, the agreement has the same text and so a valid signature, but it is refused.
	moved := identity.Agreement{Gateway: good.Gateway + "\n" + good.Agent, Agent: good.PolicySHA256, PolicySHA256: good.Nonce, Nonce: "x"}
	if moved.SignedBy(agent.Public(identity.Fetchai), agent.Sign(identity.Fetchai, moved.Text())) {
		t.Error("line feeds in a part are accepted")
	}
	if good.SignedBy(other.Public(identity.Fetchai), other.Sign(identity.Fetchai, good.Text())) {
		t.Error("a signature by another key is accepted")
	}
	if good.SignedBy(identity.PublicKey{}, signature) {
		t.Error("the zero key is accepted")
	}
	for _, ledger := range []identity.Ledger{identity.Cosmos, identity.Ethereum} {
		a := good
		a.Agent = agent.Public(ledger).Address()
		if !a.SignedBy(agent.Public(ledger), agent.Sign(ledger, a.Text())) {
			t.Errorf("%s: an agreement is refused", ledger)
		}
	}
}

// high returns the second valid signature over the same text, with the higher s.
func high(t *testing.T, data []byte) []byte {
	t.Helper()
	var s secp256k1.ModNScalar
	if s.SetByteSlice(data[32:64]) {
		t.Fatal("s beyond the order")
	}
	flipped := s.Negate().Bytes()
	return append(append([]byte(nil), data[:32]...), flipped[:]...)
}

func TestInvalidSignatures(t *testing.T) {
	k := key(t, published)
	message := []byte("m")
	text := k.Sign(identity.Fetchai, message)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.StdEncoding.EncodeToString
	for name, signature := range map[string]string{
		"none": "", "no padding": strings.TrimRight(text, "="), "for URLs": base64.URLEncoding.EncodeToString(data),
		"hexadecimal": hex.EncodeToString(data), "another line": text + "\n", "a line in it": text[:10] + "\n" + text[10:],
		"63 bytes": encode(data[:63]), "65 bytes": encode(append(data[:64:64], 0)), "all 0": encode(make([]byte, 64)),
		"r of 0": encode(append(make([]byte, 32), data[32:]...)), "the higher s": encode(high(t, data)),
		"all ones": encode([]byte(strings.Repeat("\xff", 64))), "of Ethereum": k.Sign(identity.Ethereum, message),
		"over another message": k.Sign(identity.Fetchai, []byte("n")), "by another": key(t, one).Sign(identity.Fetchai, message),
	} {
		if k.Public(identity.Fetchai).Verify(message, signature) {
			t.Errorf("fetchai, %s: the signature verifies", name)
		}
	}
	ether := k.Sign(identity.Ethereum, message)
	bytes, err := hex.DecodeString(ether[2:])
	if err != nil {
		t.Fatal(err)
	}
	with := func(rs []byte, v byte) string { return "0x" + hex.EncodeToString(append(rs[:64:64], v)) }
	for name, signature := range map[string]string{
		"none": "", "no 0x": ether[2:], "capitals": "0x" + strings.ToUpper(ether[2:]), "short": ether[:len(ether)-2], "long": ether + "1b",
		"the other v": with(bytes, 27+28-bytes[64]), "v of 0": with(bytes, bytes[64]-27), "v of compressed keys": with(bytes, bytes[64]+4),
		"the higher s": with(high(t, bytes), 27+28-bytes[64]), "no digits": "0x" + strings.Repeat("g", 130), "of Fetch.ai": text,
		"over another message": k.Sign(identity.Ethereum, []byte("n")), "by another": key(t, one).Sign(identity.Ethereum, message),
	} {
		if k.Public(identity.Ethereum).Verify(message, signature) {
			t.Errorf("ethereum, %s: the signature verifies", name)
		}
	}
	if !k.Public(identity.Fetchai).Verify(message, text) || !k.Public(identity.Ethereum).Verify(message, ether) {
		t.Error("valid signatures do not verify")
	}
	if (identity.PublicKey{}).Verify(message, text) {
		t.Error("a signature verifies with the zero key")
	}
}

func TestInvalidKeys(t *testing.T) {
	public, ether := key(t, published).Public(identity.Fetchai).String(), key(t, published).Public(identity.Ethereum).String()
	for text, want := range map[string]struct {
		ledger identity.Ledger
		err    error
	}{
		"": {identity.Fetchai, identity.ErrKey}, strings.ToUpper(public): {identity.Fetchai, identity.ErrKey},
		public[2:]: {identity.Fetchai, identity.ErrKey}, "0x" + public: {identity.Fetchai, identity.ErrKey},
		"05" + public[2:]:                    {identity.Fetchai, identity.ErrKey}, // of another kind
		"02" + strings.Repeat("f", 64):       {identity.Fetchai, identity.ErrKey}, // beyond the field
		"02" + strings.Repeat("0", 63) + "5": {identity.Fetchai, identity.ErrKey}, // no point has this x
		strings.Repeat("g", 66):              {identity.Cosmos, identity.ErrKey}, ether: {identity.Cosmos, identity.ErrKey},
		public: {identity.Ethereum, identity.ErrKey}, ether[2:]: {identity.Ethereum, identity.ErrKey},
		ether[:129] + "0": {identity.Ethereum, identity.ErrKey}, "0x" + strings.Repeat("0", 128): {identity.Ethereum, identity.ErrKey},
		" ": {"solana", identity.ErrLedger}, "x": {"", identity.ErrLedger},
	} {
		if _, err := identity.ParsePublicKey(want.ledger, text); !errors.Is(err, want.err) {
			t.Errorf("%s %q: %v, want %v", want.ledger, text, err, want.err)
		}
	}
	for _, digits := range []string{"", "01", strings.Repeat("0", 64), strings.Repeat("f", 64), one + "00"} {
		data, _ := hex.DecodeString(digits)
		if _, err := identity.NewKey(data); !errors.Is(err, identity.ErrKey) {
			t.Errorf("%q: %v, want %v", digits, err, identity.ErrKey)
		}
	}
}

func TestRepresentation(t *testing.T) {
	agent := key(t, published)
	public, err := identity.ParsePublicKey(identity.Fetchai, node)
	if err != nil {
		t.Fatal(err)
	}
	good := acn.Record{
		Service: "acn", Ledger: "fetchai", Address: agent.Public(identity.Fetchai).Address(), PublicKey: agent.Public(identity.Fetchai).String(),
		PeerPublicKey: node, Signature: representation,
	}
	for name, row := range map[string]struct {
		change func(*acn.Record)
		want   acn.Code
	}{
		"unchanged":             {func(*acn.Record) {}, acn.Success},
		"another ledger":        {func(r *acn.Record) { r.Ledger = "solana" }, acn.UnsupportedLedger},
		"another node":          {func(r *acn.Record) { r.PeerPublicKey = r.PublicKey }, acn.WrongPublicKey},
		"another address":       {func(r *acn.Record) { r.Address = key(t, one).Public(identity.Fetchai).Address() }, acn.WrongAgentAddress},
		"address of the ledger": {func(r *acn.Record) { r.Ledger = "cosmos" }, acn.WrongAgentAddress},
		"no key":                {func(r *acn.Record) { r.PublicKey = "" }, acn.WrongAgentAddress},
		"no signature":          {func(r *acn.Record) { r.Signature = "" }, acn.InvalidProof},
		"of another key": {func(r *acn.Record) {
			r.Address, r.PublicKey = key(t, one).Public(identity.Fetchai).Address(), key(t, one).Public(identity.Fetchai).String()
		}, acn.InvalidProof},
		"on Ethereum": {func(r *acn.Record) {
			of := agent.Public(identity.Ethereum)
			r.Ledger, r.Address, r.PublicKey, r.Signature = "ethereum", of.Address(), of.String(), agent.Sign(identity.Ethereum, []byte(node))
		}, acn.Success},
	} {
		r := good
		row.change(&r)
		if got := identity.Represents(r, public); got != row.want {
			t.Errorf("%s: %d, want %d", name, got, row.want)
		}
	}
	absent := good
	absent.PeerPublicKey, absent.Signature = "", agent.Sign(identity.Fetchai, nil)
	if got := identity.Represents(absent, identity.PublicKey{}); got != acn.WrongPublicKey {
		t.Errorf("a node without key: %d, want %d", got, acn.WrongPublicKey)
	}
}

// An agent verifies the node's signature of its certificate with the node's key.
func TestNodeCertificate(t *testing.T) {
	of := key(t, one)
	certificate, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := of.SignCertificate(&certificate.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := dcrec.ParseDERSignature(der)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := hex.DecodeString(of.Public(identity.Fetchai).String())
	public, err := secp256k1.ParsePubKey(data)
	if err != nil {
		t.Fatal(err)
	}
	point, err := certificate.PublicKey.Bytes()
	if sum := sha256.Sum256(point); err != nil || len(point) != 65 || !signature.Verify(sum[:], public) {
		t.Error("the signature does not verify", err)
	}
	if _, err := (identity.Key{}).SignCertificate(&certificate.PublicKey); !errors.Is(err, identity.ErrKey) {
		t.Errorf("got %v, want %v", err, identity.ErrKey)
	}
}

// A key prints as its address, so logs contain no private keys.
func TestKeysPrintAsAddresses(t *testing.T) {
	k := key(t, published)
	for _, text := range []string{fmt.Sprint(k), fmt.Sprintf("%v %+v %#v %s", k, k, k, k), fmt.Sprintf("%+v", struct{ K identity.Key }{k})} {
		if strings.Contains(text, published[:8]) || !strings.Contains(text, "fetch1x9v67") {
			t.Error(text)
		}
	}
	var none identity.Key
	public := none.Public(identity.Fetchai)
	if none.String() != "" || public.String() != "" || public.Verify(nil, none.Sign(identity.Fetchai, nil)) {
		t.Error("the zero key prints or verifies")
	}
}

// FuzzParsePublicKey checks that each key has only one text.
func FuzzParsePublicKey(f *testing.F) {
	f.Add("fetchai", node)
	f.Add("ethereum", "0x"+strings.Repeat("0", 128))
	f.Fuzz(func(t *testing.T, ledger, text string) {
		k, err := identity.ParsePublicKey(identity.Ledger(ledger), text)
		if err != nil {
			return
		}
		if k.String() != text || k.Address() == "" {
			t.Errorf("%q: %s, %s", text, k, k.Address())
		}
		k.Verify([]byte(ledger), text)
	})
}

// FuzzVerify checks that only the signature that the key makes verifies.
func FuzzVerify(f *testing.F) {
	f.Add(representation)
	f.Fuzz(func(t *testing.T, signature string) {
		k := key(t, one)
		for _, ledger := range []identity.Ledger{identity.Fetchai, identity.Ethereum} {
			if k.Public(ledger).Verify([]byte("m"), signature) && signature != k.Sign(ledger, []byte("m")) {
				t.Errorf("%s: %q", ledger, signature)
			}
		}
	})
}
