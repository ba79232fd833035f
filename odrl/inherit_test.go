package odrl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
)

func graphOf(nodes ...string) string {
	return `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"ex":"http://example.com/"}],"@graph":[` + strings.Join(nodes, ",") + `]}`
}

// permits reports whether a policy permits an action.
func permits(t *testing.T, p *odrl.Policy, party, action, target string) bool {
	t.Helper()
	e, err := p.Evaluate(t.Context(), odrl.Question{Party: party, Action: action, Target: target}, odrl.WorldState{Now: noon},
		odrl.EvaluateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return e.Permit
}

func loaded(t *testing.T, doc string, o odrl.LoadOptions) *odrl.Policy {
	t.Helper()
	p, problems := odrl.Load(t.Context(), []byte(doc), o)
	if p == nil {
		t.Fatalf("%s\n%v", doc, problems)
	}
	return p
}

// ODRL IM 2.8: a child inherits the rules, assets, parties and actions of its parents, at any depth.
func TestInheritance(t *testing.T) {
	doc := graphOf(
		`{"uid":"ex:root","assigner":"ex:org","target":"ex:book","permission":{"uid":"ex:root/1","action":"read","constraint":{"leftOperand":"count","operator":"lt","rightOperand":1,"status":5}}}`,
		`{"uid":"ex:middle","inheritFrom":"ex:root","permission":{"action":"print","target":"ex:map"}}`,
		`{"uid":"ex:other","prohibition":{"action":"sell","target":"ex:book"}}`,
		`{"uid":"ex:child","@type":"Set","inheritFrom":["ex:middle",{"@id":"ex:other"}],"permission":{"action":"play","target":"ex:film"}}`,
	)
	p := loaded(t, doc, odrl.LoadOptions{})
	if p.UID() != "http://example.com/child" {
		t.Errorf("the policy is %s, want %q", p.UID(), "http://example.com/child")
	}
	for _, tt := range []struct {
		action, target string
		want           bool
	}{
		{"print", "map", true}, {"print", "book", true}, // the shared target of the root applies to the rules of its child
		{"play", "film", true}, {"play", "book", true}, {"play", "map", false}, {"sell", "book", false},
	} {
		if got := permits(t, p, "ex:any", tt.action, "http://example.com/"+tt.target); got != tt.want {
			t.Errorf("%s %s: %v, want %v", tt.action, tt.target, got, tt.want)
		}
	}
	if root := loaded(t, doc, odrl.LoadOptions{Policy: "http://example.com/root"}); permits(t, root, "ex:any", "play",
		"http://example.com/film") {
		t.Error("a parent permits what only its child permits")
	}
	if p, problems := odrl.Load(t.Context(), []byte(doc), odrl.LoadOptions{Policy: "http://example.com/none"}); p != nil ||
		!has(problems, problem.Error, "no-policy", "") {
		t.Errorf("got %v", problems)
	}
}

func TestPublishAcceptsInheritedRules(t *testing.T) {
	doc := graphOf(
		`{"uid":"ex:root","prohibition":{"action":"execute","target":"example.com:buy:v1"}}`,
		`{"uid":"ex:child","conflict":"prohibit","inheritFrom":"ex:root","permission":{"action":"execute","target":"ex:shop"}}`,
		`{"@id":"example.com:buy:v1","partOf":"ex:tools"}`,
		`{"@id":"http://example.com/api/intents/example.com:search-products","partOf":"ex:tools"}`, `{"@id":"ex:tools","partOf":"ex:shop"}`,
	)
	p := publish(t, []byte(doc), world())
	for uid, want := range map[string]bool{
		"example.com:search-products:v1": true, "example.com:search-products:v2": true,
		"example.com:buy:v1": false, "other.org:buy:v1": false,
	} {
		if d := decide(t, p, odrl.Request{AgentID: "a", Intent: uid, Now: noon}); d.Permit != want {
			t.Errorf("%s: %+v", uid, d)
		}
	}
}

func TestAssigneesByMembership(t *testing.T) {
	doc := graphOf(
		`{"uid":"ex:p","permission":{"action":"execute","target":"example.com","assignee":"ex:team"}}`,
		`{"@id":"http://example.com/ai-agent/1","partOf":"ex:team"}`,
	)
	p := publish(t, []byte(doc), world())
	for agent, want := range map[string]bool{"agent-1": true, "agent-2": false} {
		if d := decide(t, p, odrl.Request{AgentID: agent, KeyID: "jkt-2", Intent: search.UID, Now: noon}); d.Permit != want {
			t.Errorf("%s: %+v", agent, d)
		}
	}
}

// ODRL IM 2.2.1, 2.3.1: a policy link of an asset or a party applies to every rule of the policy.
func TestLinksFromOutside(t *testing.T) {
	doc := graphOf(
		`{"uid":"ex:p","@type":"Agreement","permission":[{"action":"read"},{"action":"print","target":"ex:map"}]}`,
		`{"@id":"ex:book","@type":"dc:Document","dc:title":"Book","odrl:hasPolicy":"ex:p"}`,
		`{"@id":"ex:org","assignerOf":{"@id":"ex:p"}}`,
		`{"@id":"ex:billie","@type":"vcard:Individual","vcard:fn":"Billie","odrl:assigneeOf":"ex:p"}`,
	)
	p := loaded(t, doc, odrl.LoadOptions{})
	for _, tt := range []struct {
		party, action, target string
		want                  bool
	}{
		{"billie", "read", "book", true},
		{"billie", "print", "book", true},
		{"billie", "print", "map", true},
		{"billie", "read", "map", false},
		{"murphy", "read", "book", false},
	} {
		if got := permits(t, p, "http://example.com/"+tt.party, tt.action, "http://example.com/"+tt.target); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt, got, tt.want)
		}
	}
}

// ODRL IM 2.7: a replaced policy is void. If the replacement is in the document, it applies instead.
func TestReplacedPolicies(t *testing.T) {
	old := `{"uid":"ex:old","dct:isReplacedBy":{"@id":"ex:new"},"permission":{"action":"use","target":"ex:book"}}`
	if p := loaded(t, graphOf(old), odrl.LoadOptions{}); permits(t, p, "ex:a", "read", "http://example.com/book") {
		t.Error("a void policy permits")
	}
	doc := graphOf(old, `{"uid":"ex:new","permission":{"action":"read","target":"ex:book"}}`)
	for _, uid := range []string{"", "http://example.com/old"} {
		p := loaded(t, doc, odrl.LoadOptions{Policy: uid})
		if p.UID() != "http://example.com/new" || !permits(t, p, "ex:a", "read", "http://example.com/book") ||
			permits(t, p, "ex:a", "print", "http://example.com/book") {
			t.Errorf("%q: %s", uid, p.UID())
		}
	}
}

// A document cannot make the package hang, use unbounded memory, or permit by accident.
func TestBadDocuments(t *testing.T) {
	repeat := func(n int, s func(i int) string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = s(i)
		}
		return strings.Join(list, ",")
	}
	has := func(l problem.List, code string) bool { return find(l, code) != nil }
	const rule = `"permission":{"action":"use","target":"ex:a"}`
	nested := one("count", "lt", "5")
	for range 1000 {
		nested = `{"or":[` + one("media", "eq", `"a"`) + `,` + nested + `]}`
	}
	wide := `{"@id":"_:c0","leftOperand":"count","operator":"lt","rightOperand":5}`
	for i := range 7 {
		wide += fmt.Sprintf(`,{"@id":"_:c%d","and":[%s]}`, i+1, repeat(30, func(int) string { return fmt.Sprintf(`{"@id":"_:c%d"}`, i) }))
	}
	for name, tt := range map[string]struct{ doc, code string }{
		"10 MB": {setOf(rule, `"dct:description":"`+strings.Repeat("x", 10<<20)+`"`), "too-large"},
		"too many rules": {setOf(`"permission":[` + repeat(odrl.TooManyRules,
			func(int) string { return `{"action":"use"}` }) + `]`), "too-large"},
		"rules that multiply": {setOf(`"permission":{"action":[` + repeat(200,
			func(int) string { return `"use"` }) + `],"target":[` + repeat(200,
			func(i int) string { return fmt.Sprintf(`"http://example.com/%d"`, i) }) + `]}`), "too-large"},
		"parties that multiply": {setOf(`"permission":{"action":"use",` + asset + `,"assigner":[` +
			repeat(200, func(i int) string { return fmt.Sprintf(`"http://a.example/%d"`, i) }) + `],"assignee":[` +
			repeat(200, func(i int) string { return fmt.Sprintf(`"http://b.example/%d"`, i) }) + `]}`), "too-large"},
		"constraints nested": {use(`"constraint":` + nested), "json"},
		"constraints that multiply": {graphOf(`{"uid":"ex:p","permission":{"action":"use","target":"ex:a","constraint":{"@id":"_:c7"}}}`,
			wide), "too-large"},
		"constraint that contains itself": {graphOf(`{"uid":"ex:p","permission":{"action":"use","target":"ex:a","constraint":{"@id":"ex:c"}}}`,
			`{"@id":"ex:c","and":[{"@id":"ex:c"},`+one("count", "lt", "5")+`]}`), "cycle"},
		"duty that contains itself": {
			graphOf(`{"uid":"ex:p","obligation":{"@id":"ex:d"}}`,
				`{"@id":"ex:d","action":"inform","consequence":{"@id":"ex:e"}}`, `{"@id":"ex:e","action":"inform","consequence":{"@id":"ex:e"}}`),
			"cycle",
		},
		"circular inheritance": {graphOf(`{"uid":"ex:p","inheritFrom":"ex:q",`+rule+`}`,
			`{"uid":"ex:q","inheritFrom":"ex:p",`+rule+`}`), "inherit-cycle"},
		"policy that inherits from itself": {graphOf(`{"uid":"ex:p","inheritFrom":"ex:p",` + rule + `}`), "inherit-cycle"},
		"circular partOf": {graphOf(`{"uid":"ex:p",`+rule+`}`, `{"@id":"ex:a","partOf":"ex:b"}`,
			`{"@id":"ex:b","partOf":"ex:a"}`), "cycle"},
		"asset that is part of itself": {graphOf(`{"uid":"ex:p",`+rule+`}`, `{"@id":"ex:a","partOf":"ex:a"}`), "cycle"},
		"circular actions": {graphOf(`{"uid":"ex:p",`+rule+`}`, `{"@id":"ex:x","includedIn":"ex:y"}`,
			`{"@id":"ex:y","includedIn":"ex:x"}`), "cycle"},
		"circular replacement": {graphOf(`{"uid":"ex:p","dct:isReplacedBy":{"@id":"ex:q"},`+rule+`}`,
			`{"uid":"ex:q","dct:isReplacedBy":{"@id":"ex:p"},`+rule+`}`), "replaced-cycle"},
		"ODRL's actions rearranged": {graphOf(`{"uid":"ex:p",`+rule+`}`, `{"@id":"odrl:sell","includedIn":"use"}`), "hierarchy"},
		"permission redefined": {strings.Replace(setOf(rule), `"http://www.w3.org/ns/odrl.jsonld"`,
			`["http://www.w3.org/ns/odrl.jsonld",{"permission":{"@id":"odrl:prohibition","@type":"@id"}}]`, 1), "context"},
		"a class redefined": {strings.Replace(setOf(rule), `"http://www.w3.org/ns/odrl.jsonld"`, `{"Offer":"odrl:Set"}`, 1), "context"},
		"a strategy redefined": {
			strings.Replace(setOf(rule), `"http://www.w3.org/ns/odrl.jsonld"`, `{"invalid":"odrl:perm"}`, 1),
			"context",
		},
		"odrl redefined": {strings.Replace(setOf(rule), `"http://www.w3.org/ns/odrl.jsonld"`, `{"odrl":"http://evil.example/"}`,
			1), "context"},
		"a context within":           {use(`"@context":{"use":"odrl:read"}`), "context"},
		"two rules of one IRI":       {setOf(`"permission":[{"uid":"http://example.com/r","action":"use",` + asset + `},{"uid":"http://example.com/r","action":"read",` + asset + `}]`), "duplicate"},
		"two constraints of one IRI": {use(`"constraint":[{"uid":"http://example.com/c","leftOperand":"count","operator":"lt","rightOperand":5},{"uid":"http://example.com/c","leftOperand":"count","operator":"lt","rightOperand":6}]`), "duplicate"},
		"two policies of one IRI": {
			graphOf(`{"uid":"ex:p",`+rule+`}`, `{"uid":"ex:p","permission":{"action":"sell","target":"ex:a"}}`),
			"duplicate",
		},
		"a rule that is a constraint": {use(`"uid":"http://example.com/x","constraint":{"uid":"http://example.com/x","leftOperand":"count","operator":"lt","rightOperand":5}`), "duplicate"},
		"a permission and a duty": {graphOf(`{"uid":"ex:p","permission":{"@id":"ex:r"},"prohibition":{"@id":"ex:r"}}`,
			`{"@id":"ex:r","action":"use","target":"ex:a"}`), "duplicate"},
		"many policies in a chain": {graphOf(repeat(odrl.ChainedPolicies, func(i int) string {
			return fmt.Sprintf(`{"uid":"ex:p%d","inheritFrom":"ex:p%d",%s}`, i, i+1, rule)
		}), fmt.Sprintf(`{"uid":"ex:p%d",%s}`, odrl.ChainedPolicies, rule)), ""},
		"many parts in a chain": {graphOf(`{"uid":"ex:p",`+rule+`}`, repeat(odrl.ChainedParts, func(i int) string {
			return fmt.Sprintf(`{"@id":"ex:a%d","partOf":"ex:a%d"}`, i, i+1)
		})), ""},
	} {
		for _, lenient := range []bool{false, true} {
			p, problems := odrl.Load(t.Context(), []byte(tt.doc), odrl.LoadOptions{Lenient: lenient})
			if len(problems) > 250 {
				t.Errorf("%s: %d problems", name, len(problems))
			}
			if lenient && tt.code == "hierarchy" {
				if p == nil || permits(t, p, "ex:any", "sell", "http://example.com/a") {
					t.Errorf("%s: %v", name, problems)
				}
				continue
			}
			if (p == nil) != (tt.code != "") || tt.code != "" && !has(problems, tt.code) {
				t.Errorf("%s: loaded %v, %v", name, p != nil, problems[:min(3, len(problems))])
			}
			if judged := odrl.Validate(t.Context(), []byte(tt.doc), odrl.ValidateOptions{Lenient: lenient}); tt.code != "" && !has(judged, tt.code) {
				t.Errorf("%s: valid, %v", name, judged[:min(3, len(judged))])
			}
			if out, _ := odrl.Canonical([]byte(tt.doc), odrl.LoadOptions{Lenient: lenient}); out != nil && len(out) > 4*odrl.MaxDocument {
				t.Errorf("%s: its canonical form has %d bytes", name, len(out))
			}
		}
	}
}

// A node may occur in several places if it has the same meaning in each.
func TestOneNodeInSeveralPlaces(t *testing.T) {
	c := `{"uid":"http://example.com/c","leftOperand":"count","operator":"lt","rightOperand":5}`
	for name, doc := range map[string]string{
		"defined twice with equal content": setOf(`"permission":[{"action":"use",` + asset + `,"constraint":` + c + `},{"action":"sell",` + asset + `,"constraint":` + c + `}]`),
		"defined once and referenced":      setOf(`"permission":[{"action":"use",` + asset + `,"constraint":` + c + `},{"action":"sell",` + asset + `,"constraint":"http://example.com/c"}]`),
		"defined in two parts":             graphOf(`{"uid":"ex:p","permission":{"@id":"ex:r","action":"use"}}`, `{"@id":"ex:r","target":"ex:a"}`),
	} {
		if p, problems := odrl.Load(t.Context(), []byte(doc), odrl.LoadOptions{}); p == nil || len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

// Documents that ODRL IM 2.2 calls invalid but that can be evaluated cause warnings in lenient mode.
func TestLenientLoad(t *testing.T) {
	for code, doc := range map[string]string{
		"action":       setOf(`"permission":{` + asset + `}`),
		"target":       setOf(`"permission":{"action":"use"}`),
		"no-rule":      setOf(`"type":"Set"`),
		"uid":          `{` + inContext + `,"permission":{"action":"use",` + asset + `}}`,
		"assigner":     setOf(`"type":"Offer"`, `"permission":{"action":"use",`+asset+`}`),
		"assignee":     setOf(`"type":"Agreement"`, `"assigner":"http://a.example/x"`, `"permission":{"action":"use",`+asset+`}`),
		"unknown-key":  use(`"price":5`),
		"unknown-term": use(`"constraint":` + one("ex:age", "gt", "5")),
		"remote-context": strings.Replace(use(`"uid":"http://a.example/r"`), "http://www.w3.org/ns/odrl.jsonld",
			"https://other.example/context", 1),
		"collection": setOf(`"permission":{"action":"use","target":{"uid":"http://a.example/c","refinement":` + one("resolution", "lt",
			"5") + `}}`),
		"cardinality": use(`"constraint":` + one("purpose", "eq", `["a","b"]`)),
	} {
		if p, problems := odrl.Load(t.Context(), []byte(doc), odrl.LoadOptions{}); p != nil || find(problems, code) == nil {
			t.Errorf("strictly: %s: %v", code, problems)
		}
		p, problems := odrl.Load(t.Context(), []byte(doc), odrl.LoadOptions{Lenient: true})
		if found := find(problems, code); p == nil || found == nil || found.Level != problem.Warning {
			t.Errorf("leniently: %s: %v", code, problems)
		}
	}
}
