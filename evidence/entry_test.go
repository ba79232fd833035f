package evidence_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/strictjson"
)

var (
	moment = time.Date(2026, 11, 24, 12, 0, 0, 123456789, time.UTC)
	some   = evidence.LeafHash([]byte("x"))
	digest = evidence.Digest([]byte("x"))
)

func amount(nano int64) money.Amount { return money.Amount{Nano: nano, Currency: "EUR"} }

// entries has one entry of each kind.
func entries() map[string]evidence.Entry {
	account := evidence.Account{Agent: "my-agent", Currency: "EUR"}
	return map[string]evidence.Entry{
		"charge": {
			Issuer: "shop.example", Account: account, K: 118, Prev: some, At: moment, Kind: evidence.KindCharge, ID: "0190-x",
			From: "held", To: "captured", By: "agent", Amount: amount(50_000_000), Intent: "shop.example:order:v1", Rule: "/permission/1",
			Policy: digest, Agreement: "agr-1", Token: "jti-1", KeyID: "thumb", Request: digest, Proof: digest, Decision: digest,
			Outcome: "done", Answer: digest, AnswerForm: evidence.FormCanonical,
		},
		"first": {
			Issuer: "shop.example", Account: evidence.Account{Agent: "é\"\\\n\u2028<&>\x01", Currency: "EUR"}, At: moment,
			Kind: evidence.KindCharge, ID: "0190-x", To: "held", By: "agent", Amount: amount(1),
		},
		"top-up": {
			Issuer: "shop.example", Epoch: 2, Account: account, K: 1, Prev: some, At: moment.Truncate(time.Second), Kind: evidence.KindTopUp,
			By: "operator", Amount: amount(5_000_000_000), Reference: "invoice 7", Salt: []byte("0123456789abcdef"),
		},
		"reversal": {
			Issuer: "shop.example", Account: account, K: 1, Prev: some, At: moment, Kind: evidence.KindReversal,
			By: "operator", Amount: amount(-5_000_000_000), Salt: []byte("0123456789abcdef"),
		},
		"carry": {
			Issuer: "shop.example", Account: account, K: 3, Prev: some, At: moment, Kind: evidence.KindCarry, By: "operator", Salt: []byte("salt"),
			Through: &evidence.Through{K: 1, Hash: some},
			Sums:    &evidence.Sums{ToppedUp: amount(5), Held: amount(0), Unresolved: amount(1), Captured: amount(-3)},
		},
		"carry of large sums": {
			Issuer: "shop.example", Account: account, K: 0, At: moment, Kind: evidence.KindCarry, By: "operator", Salt: []byte("salt"),
			Sums: &evidence.Sums{ToppedUp: amount(math.MaxInt64), Held: amount(0), Unresolved: amount(0), Captured: amount(1_000_000_000_000_001)},
		},
		"key": {
			Issuer: "shop.example", At: moment, Kind: evidence.KindKey, By: "before", Salt: []byte("salt"),
			Key: &evidence.Key{Purpose: "log", ID: "kid", JWK: []byte(`{"crv":"Ed25519","kty":"OKP","x":"AAAA"}`), Verifier: "name+1+a"},
		},
		"restored": {
			Issuer: "shop.example", Epoch: 1, At: moment, Kind: evidence.KindRestored, By: "operator", Salt: []byte("salt"),
			Last: &evidence.Last{Epoch: 0, Size: 12, Root: some},
		},
	}
}

func TestEntryIsCanonical(t *testing.T) {
	t.Parallel()
	for name, e := range entries() {
		text := e.Append(nil)
		tree, err := strictjson.Decode(text)
		if err != nil {
			t.Fatalf("%s: %v in %s", name, err, text)
		}
		if want, err := strictjson.Canonical(tree); err != nil || !bytes.Equal(text, want) {
			t.Errorf("%s: got %s, want %s, %v", name, text, want, err)
		}
		again, err := evidence.ParseEntry(text)
		if err != nil || !bytes.Equal(again.Append(nil), text) {
			t.Errorf("%s: parsed as %+v, %v", name, again, err)
		}
	}
}

func TestParseEntryRefuses(t *testing.T) {
	t.Parallel()
	charge := entries()["charge"]
	text := string(charge.Append(nil))
	for name, bad := range map[string]string{
		"nothing":            "",
		"another version":    strings.Replace(text, "uim-entry-1", "uim-entry-2", 1),
		"a space":            strings.Replace(text, ":", ": ", 1),
		"an unknown member":  strings.Replace(text, `{"account"`, `{"aaa":1,"account"`, 1),
		"a duplicate member": strings.Replace(text, `"by":"agent"`, `"by":"agent","by":"agent"`, 1),
		"another order":      strings.Replace(text, `"by":"agent","dec"`, `"dec":"x","by"`, 1),
		"a negative k":       strings.Replace(text, `"k":118`, `"k":-1`, 1),
		"k as a float":       strings.Replace(text, `"k":118`, `"k":118.0`, 1),
		"no prev":            strings.Replace(text, `"prev":"`+some.String()+`",`, "", 1),
		"a long amount":      strings.Replace(text, `"0.05"`, `"0.050"`, 1),
		"another state":      strings.Replace(text, `"to":"captured"`, `"to":"stolen"`, 1),
		"a bad digest":       strings.Replace(text, `"ans":"sha-256:`, `"ans":"sha-255:`, 1),
		"a short time":       strings.Replace(text, ".123456789Z", ".123Z", 1),
		"too long":           strings.Replace(text, "agr-1", strings.Repeat("a", evidence.MaxEntry), 1),
		"an escaped letter":  strings.Replace(text, "agr-1", `\u0061gr-1`, 1),
	} {
		if bad == text {
			t.Fatalf("%s: nothing is changed", name)
		}
		if e, err := evidence.ParseEntry([]byte(bad)); err == nil {
			t.Errorf("%s: got %+v, want an error", name, e)
		}
	}
}

func FuzzParseEntry(f *testing.F) {
	for _, e := range entries() {
		f.Add(e.Append(nil))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if e, err := evidence.ParseEntry(text); err == nil && !bytes.Equal(e.Append(nil), text) {
			t.Errorf("parsed %s as %s", text, e.Append(nil))
		}
	})
}
