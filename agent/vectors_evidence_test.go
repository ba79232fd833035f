package agent_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent/budget"
	"github.com/uimgate/uimgate/agent/receipts"
	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat/keys"
)

// A receiptKey signs receipts of the vectors.
type receiptKey struct {
	ed25519.PrivateKey

	public keys.Key
}

func newReceiptKey(t *testing.T, name string) receiptKey {
	t.Helper()
	seed := sha256.Sum256([]byte("uimgate vector key " + name))
	private := ed25519.NewKeyFromSeed(seed[:])
	public, err := keys.New(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	return receiptKey{private, public}
}

func (k receiptKey) jwk() string {
	return `{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(k.PrivateKey[32:]) + `"}`
}

func (k receiptKey) sign(t *testing.T, e evidence.Entry) string {
	t.Helper()
	text, err := evidence.SignReceipt(k, k.public.Thumbprint(), e.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func euros(nano int64) money.Amount { return money.Amount{Nano: nano, Currency: "EUR"} }

// receiptVectors are receipts of one call, each with the problems that the agent finds, and keys that other keys introduce.
func receiptVectors(t *testing.T) object {
	t.Helper()
	trusted, other, next := newReceiptKey(t, "receipt"), newReceiptKey(t, "other"), newReceiptKey(t, "next")
	var set evidence.KeySet
	set.Add(evidence.PurposeReceipt, trusted.public)
	set.Add(evidence.PurposeLog, other.public)
	output := `{"order_id": "o-1"}`
	call := receipts.Call{
		Issuer: vectorIssuer, Agent: vectorAgent, KeyID: "agent-key", Policy: evidence.Digest([]byte("policy")), Agreement: "agr-1",
		Token:     vectorToken,
		Execution: "e-1", Amount: euros(50_000_000), State: "captured", Intent: "shop.example:place-order:v1",
		Request: evidence.Digest([]byte("request")), Answer: evidence.Digest([]byte(output)), Canonical: evidence.Digest([]byte(`{"order_id":"o-1"}`)),
	}
	entry := func(change func(*evidence.Entry)) evidence.Entry {
		e := evidence.Entry{
			Issuer: vectorIssuer, Account: evidence.Account{Agent: vectorAgent, Currency: "EUR"}, K: 1, Prev: evidence.LeafHash([]byte("before")),
			At: vectorTime, Kind: evidence.KindCharge, ID: "e-1", From: evidence.StateHeld, To: evidence.StateCaptured, By: "agent",
			Amount: call.Amount, Intent: call.Intent, Rule: "/permission/1", Policy: call.Policy, Agreement: call.Agreement,
			Token: vectorToken, KeyID: "agent-key", Request: call.Request, Outcome: "done", Answer: call.Answer,
		}
		change(&e)
		return e
	}
	none := func(*evidence.Entry) {}
	good := trusted.sign(t, entry(none))
	replayed := call
	replayed.Replayed = true
	var list []object
	for _, one := range []struct {
		name, text string
		call       receipts.Call
	}{
		{"right", good, call},
		{"a canonical answer", trusted.sign(t, entry(func(e *evidence.Entry) { e.Answer, e.AnswerForm = call.Canonical, evidence.FormCanonical })), call},
		{"a repetition under another token", trusted.sign(t, entry(func(e *evidence.Entry) { e.Token, e.Agreement = "earlier", "agr-0" })), replayed},
		{"another amount", trusted.sign(t, entry(func(e *evidence.Entry) { e.Amount = euros(70_000_000) })), call},
		{"another state", trusted.sign(t, entry(func(e *evidence.Entry) { e.To = evidence.StateReleased })), call},
		{"another request", trusted.sign(t, entry(func(e *evidence.Entry) { e.Request = evidence.Digest([]byte("other")) })), call},
		{"another answer", trusted.sign(t, entry(func(e *evidence.Entry) { e.Answer = evidence.Digest([]byte("other")) })), call},
		{"another policy", trusted.sign(t, entry(func(e *evidence.Entry) { e.Policy = evidence.Digest([]byte("other")) })), call},
		{"another token", trusted.sign(t, entry(func(e *evidence.Entry) { e.Token = "other" })), call},
		{"another execution", trusted.sign(t, entry(func(e *evidence.Entry) { e.ID = "e-2" })), call},
		{"another agent", trusted.sign(t, entry(func(e *evidence.Entry) { e.Account.Agent = "other" })), call},
		{"another service", trusted.sign(t, entry(func(e *evidence.Entry) { e.Issuer = "other.example" })), call},
		{"an unknown key", next.sign(t, entry(none)), call},
		{"a key for another purpose", other.sign(t, entry(none)), call},
		{"a wrong signature", good[:len(good)-8] + "AAAAAAAA", call},
		{"not a receipt", "a.b.c", call},
	} {
		r, problems := receipts.Check(one.text, set, one.call)
		names := []evidence.ProblemName{}
		for _, p := range problems {
			names = append(names, p.Name)
		}
		vector := object{"name": one.name, "receipt": one.text, "call": one.call, "problems": names, "about_call": r != nil}
		if r != nil {
			vector["entry"], vector["leaf"] = string(r.Entry.Append(nil)), r.Leaf.String()
		}
		list = append(list, vector)
	}
	introduce := func(by receiptKey) string {
		return by.sign(t, evidence.Entry{
			Issuer: vectorIssuer, At: vectorTime, Kind: evidence.KindKey, By: string(by.public.Thumbprint()), Salt: []byte("0123456789abcdef"),
			Key: &evidence.Key{Purpose: evidence.PurposeReceipt, ID: string(next.public.Thumbprint()), JWK: []byte(next.jwk())},
		})
	}
	var introductions []object
	for name, text := range map[string]string{"trusted": introduce(trusted), "other": introduce(other), "itself": introduce(next)} {
		known := set.Clone()
		err := known.Introduce(text)
		introductions = append(introductions, object{
			"by": name, "entry": text, "kid": next.public.Thumbprint(), "jwk": next.jwk(),
			"trusted": err == nil,
		})
	}
	sortBy(introductions, "by")
	return object{"jwks": string(set.JWKS()), "output": output, "receipts": list, "introductions": introductions}
}

// priceVectors are amounts of receipts, and whether a policy states them as the price of a rule.
func priceVectors(t *testing.T) []object {
	t.Helper()
	const (
		simple = `{"uid":"p","permission":[{"uid":"r"},{"uid":"r1","action":"execute","duty":{"action":"pay","amount":0.05,"unit":"EUR"}}]}`
		parts  = `{"permission":[{"duty":[{"action":"pay","amount":"0.05","unit":"EUR"},{"action":"inform"},` +
			`{"action":[{"value":"odrl:compensate"}],"amount":1e-2,"currency":{"@id":"http://dbpedia.org/resource/Euro"}}]}],` +
			`"obligation":{"action":"pay","amount":"1","unit":"EUR","target":"x:y:v1"}}`
		always = `{"permission":{"uid":"r","target":"x:y:v1"},"obligation":[{"action":{"@id":"odrl:pay"},` +
			`"amount":{"@value":"0.10"},"unit":"EUR"},"pay"]}`
		refined = `{"odrl:permission":[{"odrl:duty":{"odrl:action":{"value":"pay",` +
			`"refinement":[{"leftOperand":"payAmount","rightOperand":{"@value":"5.00"},"unit":"USD"},{"leftOperand":"unitOfCount"}]}}}]}`
		conditional = `{"permission":[{"duty":[{"action":"pay","amount":2,"unit":"EUR","constraint":{"leftOperand":"dateTime"}},` +
			`{"action":"pay","amount":1,"unit":"EUR","constraint":"c"}]}]}`
		escaped = `{"a/b":{"~c":[{"duty":{"action":"pay","amount":{"@value":"0.3","unit":{"@id":"http://dbpedia.org/resource/Swiss_franc"}}}}]}}`
	)
	var list []object
	for _, one := range []struct{ name, policy, rule, amount string }{
		{"the price", simple, "/permission/1", "0.05 EUR"},
		{"by uid", simple, "r1", "0.05 EUR"},
		{"another price", simple, "/permission/1", "5.00 EUR"},
		{"another currency", simple, "/permission/1", "0.05 USD"},
		{"a free rule", simple, "/permission/0", "0.05 EUR"},
		{"a charge of nothing", simple, "/permission/0", "0.00 EUR"},
		{"no rule", simple, "/permission/2", "0.05 EUR"},
		{"an index in another form", simple, "/permission/01", "0.05 EUR"},
		{"no list", simple, "/permission/1/duty/0", "0.05 EUR"},
		{"no object", simple, "/uid", "0.05 EUR"},
		{"a member of every object of a language", simple, "/constructor", "0.00 EUR"},
		{"the uid of the policy", simple, "p", "0.05 EUR"},
		{"a name of an object without other members", simple, "r", "0.05 EUR"},
		{"no policy", "[]", "/permission/0", "0.05 EUR"},
		{"a policy with a member twice", `{"permission":{},"permission":{}}`, "/permission", "0.00 EUR"},
		{"the sum of the duties", parts, "/permission/0", "0.06 EUR"},
		{"one of the duties", parts, "/permission/0", "0.05 EUR"},
		{"with an obligation for a target", parts, "/permission/0", "1.06 EUR"},
		{"with an obligation", always, "r", "0.10 EUR"},
		{"without an obligation", always, "r", "0.00 EUR"},
		{"a refinement", refined, "/odrl:permission/0", "5.00 USD"},
		{"under all conditions", conditional, "/permission/0", "3.00 EUR"},
		{"under one of the conditions", conditional, "/permission/0", "1.00 EUR"},
		{"under no condition", conditional, "/permission/0", "0.00 EUR"},
		{"an amount under no condition", conditional, "/permission/0", "4.00 EUR"},
		{"an escaped pointer", escaped, "/a~1b/~0c/0", "0.30 CHF"},
		{"a pointer that is not escaped", escaped, "/a/b/~c/0", "0.30 CHF"},
	} {
		amount, err := money.Parse(one.amount)
		if err != nil {
			t.Fatal(err)
		}
		states, found := evidence.StatesPrice([]byte(one.policy), one.rule, amount)
		list = append(list, object{
			"name": one.name, "policy": one.policy, "rule": one.rule, "amount": one.amount, "states": states, "found": found,
		})
	}
	return list
}

// budgetVectors are steps on one file of the amounts spent, each with the file after it.
func budgetVectors(t *testing.T) object {
	t.Helper()
	limits := []string{"1 EUR/day", "0.30 EUR/hour", "2 USD/month"}
	path := filepath.Join(t.TempDir(), "spent.json")
	now := vectorTime
	var parsed []budget.Limit
	for _, text := range limits {
		l, err := budget.ParseLimit(text)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, l)
	}
	book := budget.New(path, parsed, func() time.Time { return now })
	var steps []object
	for _, one := range []struct {
		after          time.Duration
		price, charged string // charged "?": unknown, so that the reservation stays
	}{
		{0, "0.25 EUR", "0.25 EUR"},
		{0, "0.10 EUR", ""},
		{time.Minute, "0.05 EUR", "?"},
		{0, "0.01 EUR", ""},
		{time.Hour, "0.30 EUR", "0.20 EUR"},
		{0, "0.05 EUR", "0.05 USD"},
		{time.Hour, "0.30 EUR", ""},
		{0, "1.99 USD", "1.95 USD"},
		{0, "0.01 USD", ""},
		{0, "1 CHF", ""},
		{24 * time.Hour, "0.30 EUR", "0.30 EUR"},
		{31 * 24 * time.Hour, "0.000000001 EUR", "0.000000001 EUR"},
	} {
		now = now.Add(one.after)
		price, err := money.Parse(one.price)
		if err != nil {
			t.Fatal(err)
		}
		step := object{"now": now.Unix(), "price": one.price, "charged": one.charged}
		r, err := book.Reserve(t.Context(), price)
		step["refused"] = err != nil
		if err == nil && one.charged != "?" {
			charged, _ := money.Parse(one.charged)
			if err := r.Settle(t.Context(), charged); err != nil {
				t.Fatal(err)
			}
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		step["file"] = string(data)
		steps = append(steps, step)
	}
	return object{"limits": limits, "steps": steps}
}
