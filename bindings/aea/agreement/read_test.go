package agreement_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/bindings/aea/agreement"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/pat/keys"
)

const (
	publicKey = "02ac514ba70de60ed5c30f90e3acdfc958ecb416d9676706bf013228abfb2c2816"
	// signature is a signature of text that the framework made.
	signature = "ezEf5tzeadHf5Tegi01bt1IbDWgEw8R7L6Is2tacQM53Gu0itC98eqE+/0svT+ZjZ8kdxq7/Odlia1jdLST0mA=="
	agent     = "fetch1x9v67meyfq4pkgy2n2yf6797cfkul327kpclqr"
)

var text = strings.Join([]string{
	"uim-aea-1", "fetch1w508d6qejxtdg4y5r3zarvary0c5xw7kfq77d0", agent, strings.Repeat("a", 64), "offer-1",
}, "\n")

func TestFrameworkAgreement(t *testing.T) {
	t.Parallel()
	key, err := agreement.ParseKey("", publicKey)
	if err != nil {
		t.Fatal(err)
	}
	point := key.Point()
	a, err := agreement.Read([]byte(text), signature, point)
	if err != nil || a.Agent != agent || a.Nonce != "offer-1" || string(a.Text()) != text {
		t.Errorf("got %+v, %v", a, err)
	}
	x, _ := hex.DecodeString(publicKey[2:])
	own := keys.AddressKey(string(agent), point)
	again, ok := keys.PointOf(own.SPKI())
	if !ok || !bytes.Equal(again, point) || len(own.SPKI()) != 88 || !bytes.Equal(own.SPKI()[24:56], x) {
		t.Errorf("got %x", own.SPKI())
	}
	if owns := agreement.Form().Owns; !owns(agent, own) || owns("fetch1w508d6qejxtdg4y5r3zarvary0c5xw7kfq77d0", own) {
		t.Error("Owns does not match the key to its address only")
	}
	for name, c := range map[string]struct{ text, signature, point string }{
		"an additional line": {text + "\n", signature, string(point)},
		"a missing line":     {strings.TrimSuffix(text, "\noffer-1"), signature, string(point)},
		"another form":       {strings.Replace(text, "uim-aea-1", "uim-aea-2", 1), signature, string(point)},
		"another gateway":    {strings.Replace(text, "fetch1w5", "fetch1w6", 1), signature, string(point)},
		"no address":         {strings.Replace(text, agent, "alice", 1), signature, string(point)},
		"another signature":  {text, signature[1:] + "=", string(point)},
		"no key":             {text, signature, ""},
		"a key cut off":      {text, signature, string(point[:len(point)-1])},
		"not on the curve":   {text, signature, "\x04" + strings.Repeat("\x01", 64)},
		"another curve":      {text, signature, "\x05" + string(point[1:])},
		"another key":        {text, signature, string(point[:33]) + string(make([]byte, 32))},
	} {
		a, err := agreement.Read([]byte(c.text), c.signature, []byte(c.point))
		if !errors.Is(err, agreement.ErrSignature) || a != (agreement.Agreement{}) {
			t.Errorf("%s: got %+v, %v; want %v and %+v", name, a, err, agreement.ErrSignature, agreement.Agreement{})
		}
	}
}

func TestLedgerKeys(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"solana", publicKey}, {"fetchai", ""}, {"ethereum", publicKey}, {"cosmos", "0x" + publicKey}} {
		if key, err := agreement.ParseKey(c[0], c[1]); !errors.Is(err, agreement.ErrKey) || key != (identity.PublicKey{}) {
			t.Errorf("%s: %v", c, err)
		}
	}
}

func TestIsAddress(t *testing.T) {
	t.Parallel()
	key, err := identity.ParsePublicKey(identity.Fetchai, publicKey)
	if err != nil {
		t.Fatal(err)
	}
	point, err := identity.ParsePoint(identity.Ethereum, key.Point())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		agent: true, "cosmos1x9v67meyfq4pkgy2n2yf6797cfkul3279u3mz5": true, point.Address(): true, strings.ToLower(point.Address()): true,
		strings.ToUpper(agent): false, agent[:len(agent)-1] + "q": false, "": false, "alice": false, "0x": false, point.Address() + "00": false,
		"0x" + strings.Repeat("g", 40): false, "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4": false,
	} {
		if agreement.IsAddress(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}
