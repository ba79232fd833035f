package odrl_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/reason"
	odrltest "github.com/uimgate/uimgate/internal/test/odrl"
	"github.com/uimgate/uimgate/odrl"
)

var noon = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

var search = odrl.Asset{UID: "example.com:search-products:v1", Namespace: "example.com", Name: "search-products", Title: "Search products"}

var world, homes, publish, policy, leaf = odrltest.World, odrltest.Homes, odrltest.Publish, odrltest.Policy, odrltest.Leaf

func file(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// loads and validations cache the policies and problems of the conformance table.
var loads, validations policyCache

// policyCache caches results by their input.
type policyCache struct{ made sync.Map }

func (l *policyCache) once(of string, do func() (*odrl.Policy, problem.List)) (*odrl.Policy, problem.List) {
	made, _ := l.made.LoadOrStore(of, sync.OnceValues(do))
	return made.(func() (*odrl.Policy, problem.List))() //nolint:forcetypeassert // has only this type
}

func decide(tb testing.TB, p *odrl.Policy, r odrl.Request) odrl.Decision {
	tb.Helper()
	d, err := p.Decide(tb.Context(), r)
	if err != nil {
		tb.Fatal(err)
	}
	if d.Permit != (d.Reason == "") || d.Permit != (len(d.Candidates) > 0) {
		tb.Fatalf("inconsistent: %+v", d)
	}
	return d
}

// has reports whether the list has a problem with this level, code and pointer.
func has(l problem.List, level problem.Level, code, pointer string) bool {
	return slices.ContainsFunc(l, func(p problem.Problem) bool {
		return p.Level == level && p.Code == code && p.Pointer == pointer
	})
}

func TestUIMCoreExample(t *testing.T) {
	for name, w := range map[string]odrl.World{
		"mapped": world(),
		"anyone": {Hosts: []string{"example.com"}, Intents: world().Intents, AnyAssignee: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := publish(t, file(t, "uim-core.json"), w)
			key := []byte("agent key")
			r := odrl.Request{AgentID: "agent-1", AgentKey: key, ProofKey: key, Intent: search.UID, Now: noon}
			d := decide(t, p, r)
			if !d.Permit || d.Rule != "/permission/0" || !d.ForbidsExceeding || len(d.Candidates) != 1 {
				t.Fatalf("got %+v", d)
			}
			c := d.Candidates[0]
			if len(c.Limits) != 1 || c.Limits[0].Rate != (limit.Rate{Max: 1000, Period: limit.Hour}) || len(c.Limits[0].ID) != 16 {
				t.Errorf("limits %+v", c.Limits)
			}
			if c.Charge != (money.Amount{Nano: money.Unit / 100, Currency: "USD"}) {
				t.Errorf("charge %v, want %+v", c.Charge, money.Amount{Nano: money.Unit / 100, Currency: "USD"})
			}
			if !p.Charges() || !slices.Equal(p.Currencies(), []string{"USD"}) || p.UID() != "http://example.com/policy/12345" {
				t.Errorf("got %v %v %v", p.Charges(), p.Currencies(), p.UID())
			}
			other := r
			other.Intent = "other.org:buy:v1"
			if d2 := decide(t, p, other); !d2.Permit || d2.Candidates[0].Limits[0].ID != c.Limits[0].ID {
				t.Error("the intents of a collection have separate counters")
			}

			unsigned := r
			unsigned.ProofKey = nil
			if d := decide(t, p, unsigned); d.Permit || d.Reason != reason.PolicyRequiresVerification || d.Rule != "/obligation/0" {
				t.Errorf("without a proof: %+v", d)
			}
			unsigned.ProofKey = []byte("another key")
			if d := decide(t, p, unsigned); d.Permit || d.Reason != reason.PolicyRequiresVerification {
				t.Errorf("proof by another key: %+v", d)
			}
			keyless := r
			keyless.AgentKey, keyless.ProofKey = nil, nil
			if d := decide(t, p, keyless); d.Permit {
				t.Errorf("no keys at all: %+v", d)
			}

			stranger := r
			stranger.AgentID = "agent-9"
			if d := decide(t, p, stranger); d.Permit != w.AnyAssignee {
				t.Errorf("an agent that the policy does not name: %+v", d)
			}

			terms, err := p.Terms(t.Context(), odrl.Request{AgentID: "agent-1", AgentKey: key, Intent: search.UID})
			if err != nil || !terms.Permitted || !terms.NeedsProof || len(terms.Candidates) != 1 || terms.Candidates[0].Charge != c.Charge {
				t.Errorf("got %+v, %v", terms, err)
			}
		})
	}
}

func TestUIMCoreExampleNeedsItsParty(t *testing.T) {
	w := world()
	w.Parties = nil
	p, problems := odrl.Publish(t.Context(), file(t, "uim-core.json"), w)
	if p != nil || !problems.Failed() {
		t.Fatal("published")
	}
	text := problems[len(problems)-1].Message
	if !strings.Contains(text, "map it") || !strings.Contains(text, "assignee: anyone") {
		t.Errorf("%q does not contain both solutions", text)
	}
}

func TestReferenceServicePolicy(t *testing.T) {
	p := publish(t, file(t, "homes.json"), homes())
	find := decide(t, p, odrl.Request{AgentID: "a", Intent: "homes.example:findHome:v1", Now: noon})
	show := decide(t, p, odrl.Request{AgentID: "a", Intent: "homes.example:showHome:v1", Now: noon})
	for _, d := range []odrl.Decision{find, show} {
		if !d.Permit || len(d.Candidates) != 1 || len(d.Candidates[0].Limits) != 1 {
			t.Fatalf("got %+v", d)
		}
		if d.Candidates[0].Limits[0].Rate != (limit.Rate{Max: 500, Period: limit.Hour}) {
			t.Errorf("got %+v, want [0].Rate %+v", d.Candidates[0].Limits, limit.Rate{Max: 500, Period: limit.Hour})
		}
	}
	if find.Candidates[0].Limits[0].ID == show.Candidates[0].Limits[0].ID {
		t.Error("two targets share a counter")
	}
	if c := find.Candidates[0].Charge; !c.IsZero() {
		t.Errorf("FindHome costs %v", c)
	}
	if c := show.Candidates[0].Charge; c.String() != "0.02 EUR" {
		t.Errorf("ShowHome costs %v", c)
	}
}

func TestDraftPolicy(t *testing.T) {
	p := publish(t, file(t, "draft.json"), world())
	at := func(clock string) odrl.Decision {
		now, err := time.Parse(time.RFC3339Nano, "2026-06-15T"+clock)
		if err != nil {
			t.Fatal(err)
		}
		return decide(t, p, odrl.Request{AgentID: "a", Intent: search.UID, Now: now})
	}
	for clock, want := range map[string]bool{
		"09:00:00Z": true, "16:59:59.999999999Z": true, "17:00:00Z": false, "08:59:59.999Z": false, "00:00:00Z": false,
		"18:30:00+02:00": true, "09:30:00+02:00": false,
	} {
		if d := at(clock); d.Permit != want || !want && d.Reason != reason.PolicyConflict {
			t.Errorf("%s: %+v", clock, d)
		}
	}
	d := at("12:00:00Z")
	if c := d.Candidates[0]; c.Charge.String() != "0.001 USD" || c.Limits[0].String() != "100/hour" {
		t.Errorf("got %+v", c)
	}
	if !slices.Equal(p.Operands(), []string{"dateTime"}) || d.Facts["dateTime"] != "2026-06-15T12:00:00Z" {
		t.Errorf("got %v %v", p.Operands(), d.Facts)
	}
}

func BenchmarkDecideUIMCoreExample(b *testing.B) {
	p := publish(b, file(b, "uim-core.json"), world())
	r := odrl.Request{AgentID: "agent-1", AgentKey: []byte("k"), ProofKey: []byte("k"), Intent: search.UID, Now: noon}
	b.ReportAllocs()
	for b.Loop() {
		if d, err := p.Decide(b.Context(), r); err != nil || !d.Permit {
			b.Fatal(d, err)
		}
	}
}

func BenchmarkPublishUIMCoreExample(b *testing.B) {
	doc := file(b, "uim-core.json")
	for b.Loop() {
		if p, problems := odrl.Publish(b.Context(), doc, world()); p == nil {
			b.Fatal(problems)
		}
	}
}

func BenchmarkDecideDraftPolicy(b *testing.B) { // two constraints on the clock, a limit, a price
	p := publish(b, file(b, "draft.json"), world())
	r := odrl.Request{AgentID: "agent-1", Intent: search.UID, Now: noon}
	b.ReportAllocs()
	for b.Loop() {
		if d, err := p.Decide(b.Context(), r); err != nil || !d.Permit {
			b.Fatal(d, err)
		}
	}
}

func BenchmarkDecideAmongRulesOfOtherIntents(b *testing.B) {
	for _, n := range []int{10, 1000, 5000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			w := odrl.World{}
			var rules []string
			for i := range n {
				name := "intent-" + strconv.Itoa(i)
				w.Intents = append(w.Intents, odrl.Asset{UID: "example.com:" + name + ":v1", Namespace: "example.com", Name: name, Title: name})
				rules = append(rules, `{"target":"example.com:`+name+`:v1","action":"execute","constraint":`+leaf("purpose", "eq", "a")+`}`)
			}
			p := publish(b, []byte(policy(`"permission":[`+strings.Join(rules, ",")+`]`)), w)
			r := odrl.Request{AgentID: "a", Intent: w.Intents[n/2].UID, Now: noon, Facts: map[string]any{"purpose": "a"}}
			b.ReportAllocs()
			for b.Loop() {
				if d, err := p.Decide(b.Context(), r); err != nil || !d.Permit {
					b.Fatal(d, err)
				}
			}
		})
	}
}

func ExamplePublish() {
	terms := []byte(`{
		"@context": "http://www.w3.org/ns/odrl.jsonld",
		"uid": "https://shop.example/policy",
		"permission": {
			"target": "https://shop.example/api/intents",
			"action": "execute",
			"constraint": {"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 100, "unit": "hour"},
			"duty": {"action": "pay", "amount": "0.01", "unit": "USD"}
		}
	}`)
	world := odrl.World{Intents: []odrl.Asset{{UID: "shop.example:search:v1", Namespace: "shop.example", Name: "search", Title: "Search"}}}
	p, problems := odrl.Publish(context.Background(), terms, world)
	if p == nil {
		fmt.Println(problems)
		return
	}
	d, err := p.Decide(context.Background(), odrl.Request{AgentID: "agent-1", Intent: "shop.example:search:v1", Now: noon})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := d.Candidates[0]
	fmt.Println(d.Permit, c.Rule, c.Limits[0].Rate, c.Charge)
	// Output: true /permission 100/hour 0.01 USD
}
