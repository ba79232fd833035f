package odrl_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strconv"
	"sync"
	"testing"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
)

func publicKey(t *testing.T, seed string) []byte {
	t.Helper()
	sum := sha256.Sum256([]byte(seed))
	der, err := x509.MarshalPKIXPublicKey(ed25519.NewKeyFromSeed(sum[:]).Public())
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestSigningWithANamedKey(t *testing.T) {
	key, other := publicKey(t, "named"), publicKey(t, "other")
	armoured := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: key})
	std := base64.StdEncoding.EncodeToString(key)
	for name, right := range map[string]string{
		"SPKI": std, "url": base64.RawURLEncoding.EncodeToString(key), "PEM": string(armoured),
		"base64 of PEM": base64.StdEncoding.EncodeToString(armoured),
	} {
		for _, where := range []string{
			`"obligation":{"action":"signPayload","constraint":{"leftOperand":"publicKey","operator":"use","rightOperand":` + strconv.Quote(right) + `}}`,
			`"obligation":{"action":{"rdf:value":"signPayload","refinement":{"leftOperand":"uim:publicKey","operator":"eq","rightOperand":` + strconv.Quote(right) + `}}}`,
		} {
			p := publish(t, []byte(policy(`"permission":{`+all+`}`, where)), world())
			for _, tt := range []struct {
				agent, proof []byte
				want         bool
			}{{key, key, true}, {key, nil, false}, {key, other, false}, {other, other, false}, {nil, key, true}, {nil, nil, false}} {
				d := decide(t, p, odrl.Request{AgentID: "a", Intent: search.UID, Now: noon, AgentKey: tt.agent, ProofKey: tt.proof})
				if d.Permit != tt.want || !tt.want && d.Reason != reason.PolicyRequiresVerification {
					t.Errorf("%s: %+v", name, d)
				}
			}
			for _, tt := range []struct {
				agent []byte
				want  bool
			}{{key, true}, {other, false}, {nil, false}} {
				terms, err := p.Terms(t.Context(), odrl.Request{AgentID: "a", Intent: search.UID, AgentKey: tt.agent})
				if err != nil || terms.Permitted != tt.want || terms.NeedsProof != tt.want {
					t.Errorf("%s: got %+v, %v; want no error, Permitted %v and NeedsProof %v", name, terms, err, tt.want, tt.want)
				}
			}
		}
	}
}

func TestSigningAsADutyOfOnePermission(t *testing.T) {
	key := publicKey(t, "agent")
	p := publish(t, []byte(policy(`"permission":[{"target":"example.com:buy:v1","action":"execute","duty":{"action":"signPayload"}},{"target":"example.com:search-products","action":"execute"}]`)), world())
	for _, tt := range []struct {
		intent string
		proof  []byte
		want   reason.Reason
	}{
		{"example.com:buy:v1", key, ""},
		{"example.com:buy:v1", nil, reason.PolicyRequiresVerification},
		{search.UID, nil, ""},
		{"other.org:buy:v1", key, reason.PolicyNotApplicable},
	} {
		r := odrl.Request{AgentID: "a", Intent: tt.intent, Now: noon, AgentKey: key, ProofKey: tt.proof}
		if d := decide(t, p, r); d.Reason != tt.want {
			t.Errorf("%s: %+v", tt.intent, d)
		}
		terms, err := p.Terms(t.Context(), r)
		if err != nil || terms.Permitted != (tt.want != reason.PolicyNotApplicable) || terms.NeedsProof != (tt.intent == "example.com:buy:v1") {
			t.Errorf("%s: %+v, %v", tt.intent, terms, err)
		}
	}
}

func TestTermsLeaveUnknownFactsOpen(t *testing.T) {
	doc := policy(`"conflict":"prohibit"`,
		`"permission":{`+all+`,"constraint":[{"leftOperand":"dateTime","operator":"lt","rightOperand":"2020-01-01"},{"leftOperand":"purpose","operator":"eq","rightOperand":"research"},
			{"leftOperand":"rateLimit","operator":"lteq","rightOperand":5,"unit":"hour"}],"duty":{"action":"pay","amount":1,"unit":"USD","constraint":{"leftOperand":"industry","operator":"eq","rightOperand":"ads"}}}`,
		`"prohibition":{`+all+`,"constraint":{"leftOperand":"spatial","operator":"isPartOf","rightOperand":"US"}}`)
	p := publish(t, []byte(doc), world())
	for _, tt := range []struct {
		facts  map[string]any
		want   reason.Reason
		charge string
	}{
		{nil, "", "1.00 USD"},
		{map[string]any{"purpose": "research", "industry": "ads"}, "", "1.00 USD"},
		{map[string]any{"industry": "health"}, "", "0"},
		{map[string]any{"purpose": "marketing"}, reason.PolicyNotApplicable, ""},
		{map[string]any{"spatial": "US-CA"}, reason.PolicyViolation, ""},
		{map[string]any{"spatial": "DE"}, "", "1.00 USD"},
	} {
		terms, err := p.Terms(t.Context(), odrl.Request{AgentID: "a", Intent: search.UID, Now: noon, Facts: tt.facts})
		if err != nil || terms.Permitted != (tt.want == "") || terms.Reason != tt.want {
			t.Errorf("%v: %+v, %v; want no error, Permitted %v and Reason %v", tt.facts, terms, err, tt.want == "", tt.want)
			continue
		}
		if terms.Permitted && (terms.Candidates[0].Charge.String() != tt.charge || len(terms.Candidates[0].Limits) != 1) {
			t.Errorf("%v: %+v", tt.facts, terms.Candidates)
		}
	}
	if d := decide(t, p, odrl.Request{
		AgentID: "a", Intent: search.UID, Now: noon,
		Facts: map[string]any{"purpose": "research", "spatial": "DE"},
	}); d.Permit {
		t.Error("permitted after its end")
	}
}

func TestDenialNamesWhatIsMissing(t *testing.T) {
	p := publish(t, []byte(policy(`"permission":[
		{`+all+`,"constraint":[{"leftOperand":"purpose","operator":"eq","rightOperand":"research"},{"leftOperand":"industry","operator":"eq","rightOperand":"health"}]},
		{"uid":"http://r.example/near",`+all+`,"constraint":[{"or":[{"leftOperand":"spatial","operator":"isPartOf","rightOperand":"DE"},{"leftOperand":"purpose","operator":"eq","rightOperand":"x"}]}]}]`)), world())
	d := decide(t, p, odrl.Request{
		AgentID: "a", Intent: search.UID, Now: noon,
		Facts: map[string]any{"spatial": "SECRET", "purpose": "CANARY"},
	})
	if d.Reason != reason.PolicyNotApplicable || d.Rule != "http://r.example/near" ||
		d.Detail != `the closest permission requires or (spatial isPartOf "DE", purpose eq "x")` {
		t.Errorf("got %+v", d)
	}
	for _, intent := range []string{"", "nowhere:x:v1", "example.com", "*"} {
		if d := decide(t, p, odrl.Request{AgentID: "a", Intent: intent, Now: noon}); d.Reason != reason.PolicyNotApplicable {
			t.Errorf("%q: %+v", intent, d)
		}
	}
}

func TestPublishWarnsOfPlaceholderKeys(t *testing.T) {
	p := publish(t, file(t, "uim-core.json"), world())
	if !has(p.Warnings(), problem.Warning, "public-key", "/obligation/0/constraint/0/rightOperand") {
		t.Errorf("got %v", p.Warnings())
	}
}

func TestTermsReportCertainConflicts(t *testing.T) {
	for strategy, want := range map[string]reason.Reason{"perm": "", "prohibit": reason.PolicyViolation, "invalid": reason.PolicyConflict} {
		p := publish(t, []byte(policy(`"conflict":"`+strategy+`"`, `"permission":{`+all+`}`,
			`"prohibition":{`+all+`,"constraint":`+leaf("purpose", "eq", "ads")+`}`)), world())
		terms, err := p.Terms(t.Context(), odrl.Request{AgentID: "a", Intent: search.UID, Facts: map[string]any{"purpose": "ads"}})
		if err != nil || terms.Reason != want || terms.Permitted != (want == "") {
			t.Errorf("%s: got %+v, %v; want no error, Reason %v and Permitted %v", strategy, terms, err, want, want == "")
		}
	}
}

func TestDecidingConcurrently(t *testing.T) {
	p := publish(t, file(t, "uim-core.json"), world())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 50 {
				r := odrl.Request{AgentID: "agent-1", AgentKey: []byte("k"), Intent: search.UID, Now: noon}
				if i%2 == 0 {
					r.ProofKey = r.AgentKey
				}
				if d, err := p.Decide(t.Context(), r); err != nil || d.Permit != (i%2 == 0) {
					t.Errorf("got %+v, %v", d, err)
				}
			}
		})
	}
	wg.Wait()
}

// Policies are published and evaluated concurrently. One policy is evaluated by many goroutines, including its first evaluation.
func TestPublishingAndEvaluatingConcurrently(t *testing.T) {
	doc := file(t, "uim-core.json")
	shared, problems := odrl.Load(t.Context(), doc, odrl.LoadOptions{Lenient: true})
	if shared == nil {
		t.Fatal(problems)
	}
	q := odrl.Question{Party: "http://example.com/a", Action: "execute", Target: search.UID}
	evaluate := func(p *odrl.Policy) odrl.Evaluation {
		e, err := p.Evaluate(t.Context(), q, odrl.WorldState{Now: noon}, odrl.EvaluateOptions{})
		if err != nil {
			t.Error(err)
		}
		return e
	}
	own, problems := odrl.Load(t.Context(), doc, odrl.LoadOptions{Lenient: true})
	if own == nil {
		t.Fatal(problems)
	}
	want := evaluate(own)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				if e := evaluate(shared); e.Permit != want.Permit || e.Reason != want.Reason {
					t.Errorf("%v %s, want %v %s", e.Permit, e.Reason, want.Permit, want.Reason)
				}
			}
		})
		wg.Go(func() {
			p, problems := odrl.Publish(t.Context(), doc, world())
			if p == nil {
				t.Error(problems)
			} else if d, err := p.Decide(t.Context(), odrl.Request{
				AgentID: "agent-1", AgentKey: []byte("k"), ProofKey: []byte("k"),
				Intent: search.UID, Now: noon,
			}); err != nil || !d.Permit {
				t.Errorf("%+v, %v, want a permit", d, err)
			}
		})
	}
	wg.Wait()
}

func TestCancelledDecisionDenies(t *testing.T) {
	p := publish(t, file(t, "uim-core.json"), world())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := odrl.Request{AgentID: "agent-1", AgentKey: []byte("k"), ProofKey: []byte("k"), Intent: search.UID, Now: noon}
	for range 100 {
		if d, err := p.Decide(ctx, r); err != nil && d.Permit {
			t.Fatalf("got %+v, %v", d, err)
		}
	}
}
