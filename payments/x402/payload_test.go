package x402_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	facilitatortest "github.com/uimgate/uimgate/internal/test/facilitator"
	"github.com/uimgate/uimgate/payments/x402"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return now }

func terms() *x402.Terms {
	return &x402.Terms{PayTo: facilitatortest.PayTo, Assets: []x402.Asset{{
		Network: facilitatortest.Network, Address: facilitatortest.Asset, Decimals: 6, Currency: "USD", Name: "USDC", Version: "2",
	}}}
}

func usd(nano int64) money.Amount { return money.Amount{Nano: nano, Currency: "USD"} }

// offered returns the PAYMENT-REQUIRED header for an amount.
func offered(tb testing.TB, amount money.Amount) string {
	tb.Helper()
	r := x402.Quote{Resource: x402.Resource{URL: "https://shop.example/"}, Accepts: terms().Requirements(amount)}
	text, err := r.JSON()
	if err != nil {
		tb.Fatal(err)
	}
	return x402.Header(text)
}

// edited returns a payment in which a member of an object was replaced. nil removes the member.
func edited(tb testing.TB, payment []byte, value any, path ...string) []byte {
	tb.Helper()
	var tree map[string]any
	if err := json.Unmarshal(payment, &tree); err != nil {
		tb.Fatal(err)
	}
	at := tree
	for _, name := range path[:len(path)-1] {
		at, _ = at[name].(map[string]any)
	}
	if at[path[len(path)-1]] = value; value == nil {
		delete(at, path[len(path)-1])
	}
	out, err := json.Marshal(tree)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func TestReadRefuses(t *testing.T) {
	good := facilitatortest.NewPayer(t, clock).Pay(t, offered(t, usd(money.Unit)))
	if _, err := x402.ReadHeader(facilitatortest.Header(good)); err != nil {
		t.Fatal(err)
	}
	in := func(value any, path ...string) string { return facilitatortest.Header(edited(t, good, value, path...)) }
	for name, tt := range map[string]struct{ header, pointer string }{
		"empty":               {"", ""},
		"not base64":          {"{}", ""},
		"the URL alphabet":    {strings.NewReplacer("+", "-", "/", "_").Replace(base64.StdEncoding.EncodeToString([]byte("{\"a\":\"~~~???\"}"))), ""},
		"without padding":     {strings.TrimRight(facilitatortest.Header([]byte(`{"x402Version":2}`)), "="), ""},
		"not JSON":            {facilitatortest.Header([]byte("{")), ""},
		"a list":              {facilitatortest.Header([]byte("[]")), ""},
		"a member twice":      {facilitatortest.Header([]byte(`{"x402Version":2,"x402Version":2}`)), ""},
		"deep":                {facilitatortest.Header([]byte(strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000))), ""},
		"wide":                {facilitatortest.Header([]byte(`{"a":[` + strings.Repeat("1,", 300) + "1]}")), ""},
		"long":                {strings.Repeat("A", x402.MaxHeader+4), ""},
		"version 1":           {in(1, "x402Version"), "/x402Version"},
		"version as text":     {in("2", "x402Version"), "/x402Version"},
		"no accepted":         {in(nil, "accepted"), "/accepted/network"},
		"another kind of net": {in("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "accepted", "network"), "/accepted/network"},
		"a number as amount":  {in(1, "accepted", "amount"), "/accepted/amount"},
		"a negative amount":   {in("-1", "accepted", "amount"), "/accepted/amount"},
		"a long amount":       {in(strings.Repeat("9", 79), "accepted", "amount"), "/accepted/amount"},
		"no payload":          {in(nil, "payload"), "/payload/signature"},
		"no authorization":    {in(nil, "payload", "authorization"), "/payload/authorization/from"},
		"a short nonce":       {in("0x00", "payload", "authorization", "nonce"), "/payload/authorization/nonce"},
		"a second payment": {
			in(map[string]any{"from": "0x1", "permitted": map[string]any{"amount": "1"}}, "payload", "permit2Authorization"), "/payload",
		},
		"a member of no use":   {in("1", "payload", "Authorization"), "/payload"},
		"another nonce":        {in("0x00", "payload", "authorization", "Nonce"), "/payload/authorization"},
		"a signature in words": {in("0xsigned", "payload", "signature"), "/payload/signature"},
		"a short id": {
			in(map[string]any{"payment-identifier": map[string]any{"info": map[string]any{"id": "short"}}}, "extensions"),
			"/extensions/payment-identifier/info/id",
		},
	} {
		p, err := x402.ReadHeader(tt.header)
		form, ok := errors.AsType[*x402.FormError](err)
		if !ok || form.Pointer != tt.pointer || p != nil {
			t.Errorf("%s: got %v, want an error at %q", name, err, tt.pointer)
		}
	}
}

func TestPayloadShowsNoSignature(t *testing.T) {
	payment := facilitatortest.NewPayer(t, clock).Pay(t, offered(t, usd(money.Unit)))
	p, err := x402.Read(payment)
	if err != nil {
		t.Fatal(err)
	}
	_, signature, _ := strings.Cut(string(payment), `"signature":"0x`)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb, p); strings.Contains(text, signature[:20]) || !strings.Contains(text, "x402:eip155:84532:0x036cbd53") {
			t.Errorf("%s: got %s", verb, text)
		}
	}
	if n := len(p.Reference()); n > 200 {
		t.Errorf("the reference has %d bytes, want at most 200", n)
	}
}

func TestMatch(t *testing.T) {
	payer := facilitatortest.NewPayer(t, clock)
	good := payer.Pay(t, offered(t, usd(money.Unit)))
	more, tiny := *payer, *payer
	more.Value, tiny.Value = "2500000", "0"
	late, far, other := *payer, *payer, *payer
	late.Valid, far.Valid, other.To = 0, 25*time.Hour, "0x0000000000000000000000000000000000000001"
	for name, tt := range map[string]struct {
		payment []byte
		least   money.Amount
		member  string
		nano    int64
	}{
		"exact":             {good, usd(money.Unit), "", money.Unit},
		"of a wider ask":    {good, usd(1), "", money.Unit},
		"more":              {more.Pay(t, offered(t, usd(money.Unit))), usd(money.Unit), "", 2_500_000_000},
		"less":              {good, usd(money.Unit + 1), "accepted.amount", 0},
		"nothing":           {tiny.Pay(t, offered(t, usd(money.Unit))), usd(0), "accepted.amount", 0},
		"another currency":  {good, money.Amount{Nano: 1, Currency: "EUR"}, "accepted.asset", 0},
		"another scheme":    {edited(t, good, "upto", "accepted", "scheme"), usd(1), "accepted.scheme", 0},
		"another chain":     {edited(t, good, "eip155:1", "accepted", "network"), usd(1), "accepted.asset", 0},
		"another token":     {edited(t, good, facilitatortest.PayTo, "accepted", "asset"), usd(1), "accepted.asset", 0},
		"another receiver":  {edited(t, good, facilitatortest.Asset, "accepted", "payTo"), usd(1), "accepted.payTo", 0},
		"signed for others": {other.Pay(t, offered(t, usd(money.Unit))), usd(1), "payload.authorization.to", 0},
		"another value":     {edited(t, good, "9000000", "accepted", "amount"), usd(1), "payload.authorization.value", 0},
		"past":              {late.Pay(t, offered(t, usd(money.Unit))), usd(1), "payload.authorization.validBefore", 0},
		"far away":          {far.Pay(t, offered(t, usd(money.Unit))), usd(1), "payload.authorization.validBefore", 0},
		"beyond the range": {edited(t, edited(t, good, "1"+strings.Repeat("0", 30), "accepted", "amount"), "1"+strings.Repeat("0", 30), "payload",
			"authorization", "value"), usd(1), "accepted.amount", 0},
		"addresses in capitals": {edited(t, good, "0x"+strings.ToUpper(facilitatortest.Asset[2:]), "accepted", "asset"), usd(1), "", money.Unit},
	} {
		p, err := x402.Read(tt.payment)
		if err != nil {
			t.Fatal(name, err)
		}
		order, err := terms().Match(p, tt.least, now)
		if mismatch, _ := errors.AsType[*x402.MismatchError](err); tt.member != "" && (mismatch == nil || mismatch.Member != tt.member) ||
			tt.member == "" && (err != nil || order.Amount != usd(tt.nano)) {
			t.Errorf("%s: got %v, %v; want %q, %d", name, order.Amount, err, tt.member, tt.nano)
		}
		if err == nil {
			again, err := x402.OrderOf(order.Body)
			if err != nil || again.Payer != order.Payer || again.Atomic != order.Atomic || !again.Until.Equal(order.Until) {
				t.Errorf("%s: read again: got %+v, %v; want %+v", name, again, err, order)
			}
		}
	}
}

func TestAmountsAreRoundedForTheService(t *testing.T) {
	for _, tt := range []struct {
		decimals int
		nano     int64
		atomic   string
		credited int64
	}{
		{6, 1, "1", 1000},
		{6, 1_000_001, "1001", 1_001_000},
		{0, 1, "1", money.Unit},
		{9, 7, "7", 7},
		{18, 7, "7000000000", 7},
		{18, money.MaxUnits * money.Unit, "1000000000000000000000000", money.MaxUnits * money.Unit},
	} {
		of := terms()
		of.Assets[0].Decimals = tt.decimals
		asked := of.Requirements(usd(tt.nano))
		if len(asked) != 1 || asked[0].Amount != tt.atomic {
			t.Errorf("%d nano with %d decimals: got %+v, want %s", tt.nano, tt.decimals, asked, tt.atomic)
			continue
		}
		text, _ := (&x402.Quote{Accepts: asked}).JSON()
		p, err := x402.Read(facilitatortest.NewPayer(t, clock).PayTerms(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if order, err := of.Match(p, usd(tt.nano), now); err != nil || order.Amount.Nano != tt.credited {
			t.Errorf("%s atomic units with %d decimals: got %v, %v; want %d nano", tt.atomic, tt.decimals, order.Amount, err, tt.credited)
		}
	}
	if got := terms().Requirements(money.Amount{Nano: 1, Currency: "EUR"}); len(got) != 0 {
		t.Errorf("another currency: got %+v", got)
	}
}

func FuzzReadHeader(f *testing.F) {
	f.Add(facilitatortest.Header(facilitatortest.NewPayer(f, clock).Pay(f, offered(f, usd(money.Unit)))))
	f.Add("e30=")
	f.Fuzz(func(t *testing.T, header string) {
		p, err := x402.ReadHeader(header)
		if err != nil {
			if _, ok := errors.AsType[*x402.FormError](err); !ok {
				t.Fatalf("not a form error: %v", err)
			}
			return
		}
		if len(p.Reference()) > 200 || strings.ContainsFunc(p.Reference(), func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Fatalf("reference %q", p.Reference())
		}
		order, err := terms().Match(p, usd(1), now)
		if err == nil && (order.Amount.Nano <= 0 || !json.Valid(order.Body)) {
			t.Fatalf("order %+v", order)
		}
	})
}
