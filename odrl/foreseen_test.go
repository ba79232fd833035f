package odrl

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// onePerIntent publishes a policy of n intents with a permission each. Every tenth permission is for a partner only.
func onePerIntent(tb testing.TB, n int) (*Policy, []Asset) {
	tb.Helper()
	w := World{Hosts: []string{"example.com"}, Parties: map[string]Party{"http://example.com/partner": {AgentID: "partner", KeyID: "k"}}}
	var permissions []string
	for i := range n {
		name := fmt.Sprintf("do-%d", i)
		w.Intents = append(w.Intents, Asset{UID: "example.com:" + name + ":v1", Namespace: "example.com", Name: name, Title: name})
		assignee := ""
		if i%10 == 0 {
			assignee = `,"assignee":"http://example.com/partner"`
		}
		permissions = append(permissions, fmt.Sprintf(`{"target":"example.com:%s:v1","action":"execute"%s,"constraint":{"leftOperand":"rateLimit",`+
			`"operator":"lteq","rightOperand":%d,"unit":"hour"}}`, name, assignee, 100+i%5))
	}
	doc := `{"@context":"http://www.w3.org/ns/odrl.jsonld","uid":"http://example.com/p","profile":"http://example.com/profile/odrl-uim","permission":[` +
		strings.Join(permissions, ",") + `]}`
	p, problems := Publish(tb.Context(), []byte(doc), w)
	if p == nil {
		tb.Fatal(problems)
	}
	return p, w.Intents
}

// Prepare evaluates the terms once for each agent that the policy names and once for all others.
func TestTermsAreCached(t *testing.T) {
	p, offered := onePerIntent(t, 40)
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	const partners = 4
	if n := len(p.foreseen.known); n != len(offered)+partners {
		t.Errorf("%d terms are prepared for %d intents", n, len(offered))
	}
	permitted := map[string]int{}
	for _, who := range []Request{
		{AgentID: "partner", KeyID: "k"}, {AgentID: "partner", KeyID: "another"}, {AgentID: "a", AgentKey: []byte("x")}, {AgentID: "b", KeyID: "k"},
	} {
		for _, in := range offered {
			who.Intent = in.UID
			terms, err := p.Terms(t.Context(), who)
			if err != nil {
				t.Fatal(err)
			}
			if terms.Permitted {
				permitted[who.AgentID+who.KeyID]++
			}
		}
	}
	if want := map[string]int{"partnerk": 40, "partneranother": 36, "a": 36, "bk": 36}; !cmp.Equal(permitted, want) {
		t.Errorf("%v, want %v", permitted, want)
	}
	if n := len(p.foreseen.known); n != len(offered)+partners {
		t.Errorf("%d terms are cached after other agents asked", n)
	}
}

// Cached terms equal those of an evaluation, for every agent, key, intent and fact.
func TestCachedTermsMatchAnEvaluation(t *testing.T) {
	var keys [][]byte
	for _, seed := range []string{"named", "other"} {
		der, err := x509.MarshalPKIXPublicKey(ed25519.NewKeyFromSeed([]byte(fmt.Sprintf("%-32s", seed))).Public())
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, der)
	}
	signing := `{"action":"signPayload","constraint":{"leftOperand":"publicKey","operator":"use","rightOperand":"` +
		base64.StdEncoding.EncodeToString(keys[0]) + `"}}`
	const agent = `"assignee":"http://example.com/agent/`
	for _, rules := range []string{
		`"permission":[{` + everyCall + `,` + agent + `1"},{"target":"example.com:buy:v2","action":"execute","duty":` + signing + `}]`,
		`"conflict":"prohibit","permission":{` + everyCall + `},"prohibition":[{` + everyCall + `,` + agent + `3"},{"target":"example.com:search:v1","action":"execute",` + agent + `2"}]`,
		`"permission":{` + everyCall + `,"constraint":{"leftOperand":"version","operator":"gteq","rightOperand":"2"}}`,
		`"permission":{` + everyCall + `,"constraint":[` + purposeIs("a") + `,{"leftOperand":"dateTime","operator":"lt","rightOperand":"2030-01-01"}]}`,
		`"permission":[{` + everyCall + `,` + agent + `1"},{` + everyCall + `,` + agent + `2","duty":` + signing + `}],"obligation":` + signing,
	} {
		p := published(t, rules)
		d := rand.New(rand.NewPCG(1, 2))
		for range 200 {
			r := Request{
				AgentID:  []string{"agent-1", "agent-2", "stranger"}[d.IntN(3)],
				KeyID:    []string{"", "k1", "k2"}[d.IntN(3)],
				AgentKey: [][]byte{nil, keys[0], keys[1], []byte("x")}[d.IntN(4)],
				Intent:   []string{"example.com:search:v1", "example.com:search:v2", "example.com:buy:v2", "other.org:buy:v1.2"}[d.IntN(4)],
				Facts:    []map[string]any{nil, {"purpose": "a"}, {"purpose": "b"}, {"spatial": "DE"}}[d.IntN(4)],
			}
			got, err := p.Terms(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if !p.names(r.Intent) {
				continue
			}
			want, err := p.foresee(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
				t.Fatalf("%s\n%+v\n%+v\nwant %+v", rules, r, got, want)
			}
		}
		if len(p.foreseen.known) == 0 {
			t.Errorf("no terms are cached for %s", rules)
		}
	}
}

// BenchmarkTermsOf1500Intents measures the terms of all intents, as issuing to an unnamed agent requires.
func BenchmarkTermsOf1500Intents(b *testing.B) {
	p, offered := onePerIntent(b, 1500)
	if err := p.Prepare(b.Context()); err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n++
		id := fmt.Sprint("agent-", n)
		for _, in := range offered {
			if _, err := p.Terms(b.Context(), Request{AgentID: id, KeyID: id, AgentKey: []byte(id), Intent: in.UID}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkPrepare1500Intents(b *testing.B) {
	p, _ := onePerIntent(b, 1500)
	for b.Loop() {
		p.foreseen.known = nil
		if err := p.Prepare(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
