package odrl_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/problem"
	odrltest "github.com/uimgate/uimgate/internal/test/odrl"
	"github.com/uimgate/uimgate/odrl"
)

const head = odrltest.Head

// permit returns a policy of one permission for every intent, with additional members.
func permit(more string) string {
	if more != "" {
		more = "," + more
	}
	return `{` + head + `,"permission":[{"target":"http://example.com/api/intents","action":"execute"` + more + `}]}`
}

func candidate(t *testing.T, doc string) odrl.Candidate {
	t.Helper()
	d := decide(t, publish(t, []byte(doc), world()), odrl.Request{AgentID: "agent-1", Intent: search.UID, Now: noon})
	if !d.Permit {
		t.Fatalf("%s: %+v", doc, d)
	}
	return d.Candidates[0]
}

func TestLimitsInEveryForm(t *testing.T) {
	for in, want := range map[string]string{
		`{"leftOperand":"rate","operator":"lteq","rightOperand":"100","unit":"requests/hour"}`:                                                                                                     "100/hour",
		`{"leftOperand":"rateLimit","operator":"lte","rightOperand":100,"unit":"http://example.com/vocab/hour"}`:                                                                                   "100/hour",
		`{"leftOperand":"https://example.com/vocab/rateLimit","operator":"lt","rightOperand":100,"unit":"PT1H"}`:                                                                                   "99/hour",
		`{"leftOperand":"odrl:count","operator":"odrl:lteq","rightOperand":{"@value":"5","@type":"xsd:integer"},"unit":"odrl:minute"}`:                                                             "5/minute",
		`{"leftOperand":"count","operator":"http://www.w3.org/ns/odrl/2/lteq","rightOperand":[5],"unit":{"@id":"odrl:day"}}`:                                                                       "5/day",
		`{"leftOperand":"count","operator":"eq","rightOperand":1e3,"unit":"months"}`:                                                                                                               "1000/month",
		`{"leftOperand":"count","operator":"lteq","rightOperand":"5"}`:                                                                                                                             "5/lifetime",
		`{"leftOperand":"count","operator":"lteq","rightOperand":5,"status":2}`:                                                                                                                    "3/lifetime",
		`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":"7/second"}`:                                                                                                                  "7/second",
		`{"odrl:leftOperand":{"@id":"odrl:count"},"odrl:operator":{"@id":"odrl:lteq"},"odrl:rightOperand":{"type":"xsd:integer","@value":"5"},"odrl:unit":"http://www.w3.org/2006/time#unitWeek"}`: "5/week",
		`{"and":[{"leftOperand":"count","operator":"lteq","rightOperand":5,"unit":"year"},{"leftOperand":"dateTime","operator":"gt","rightOperand":"2020-01-01"}]}`:                                "5/year",
		`{"andSequence":{"@list":[{"leftOperand":"count","operator":"lteq","rightOperand":5,"unit":"year"},{"leftOperand":"dateTime","operator":"gt","rightOperand":"2020-01-01"}]}}`:              "5/year",
	} {
		for _, doc := range []string{
			permit(`"constraint":` + in), permit(`"constraint":[` + in + `]`), permit(`"odrl:constraint":{"@set":[` + in + `]}`),
			strings.Replace(permit(""), `"execute"`, `{"rdf:value":{"@id":"odrl:execute"},"refinement":`+in+`}`, 1),
			strings.Replace(permit(""), `"execute"`, `[{"@id":"http://www.w3.org/ns/odrl/2/use","refinement":[`+in+`]}]`, 1),
		} {
			c := candidate(t, doc)
			if len(c.Limits) != 1 || c.Limits[0].String() != want {
				t.Errorf("%s: %v, want %s", doc, c.Limits, want)
			}
		}
	}
}

func TestPricesInEveryForm(t *testing.T) {
	for in, want := range map[string]string{
		`{"action":"pay","amount":0.01,"unit":"http://example.com/vocab/USD"}`:                     "0.01 USD",
		`{"action":"odrl:compensate","amount":"0.25","currency":"EUR"}`:                            "0.25 EUR",
		`{"action":"compensate","amount":{"value":"2","currency":"GBP"},"timeInterval":"P1M"}`:     "2.00 GBP",
		`{"action":"compensate","amount":{"@value":"2.5","@type":"xsd:decimal"},"unit":"uim:JPY"}`: "2.50 JPY",
		`{"action":[{"rdf:value":{"@id":"odrl:compensate"},"refinement":[{"leftOperand":"payAmount","operator":"eq","rightOperand":5,"unit":"http://dbpedia.org/resource/Euro"}]}],"compensatedParty":"http://example.com/web-service/1"}`: "5.00 EUR",
		`{"action":"pay","constraint":{"leftOperand":"paymentAmount","operator":"eq","rightOperand":"0.001","unit":"http://cvx.iptc.org/iso4217a/USD"}}`:                                                                                   "0.001 USD",
		`{"action":"pay","constraint":[{"leftOperand":"payAmount","operator":"eq","rightOperand":"1","unit":"USD"},{"leftOperand":"unitOfCount","operator":"eq","rightOperand":"execute"}]}`:                                               "1.00 USD",
		`[{"action":"pay","amount":1,"unit":"USD"},{"action":"pay","amount":"0.5","unit":"USD"}]`:                                                                                                                                          "1.50 USD",
		`{"action":"pay","amount":0,"unit":"USD"}`: "0",
		`{"action":"pay","amount":1,"unit":"USD","constraint":{"leftOperand":"purpose","operator":"eq","rightOperand":"resale"}}`:      "1.00 USD",
		`{"action":"pay","amount":1,"unit":"USD","constraint":{"leftOperand":"dateTime","operator":"gt","rightOperand":"2099-01-01"}}`: "0",
	} {
		if c := candidate(t, permit(`"duty":`+in)); c.Charge.String() != want {
			t.Errorf("%s: %v, want %s", in, c.Charge, want)
		}
	}
	both := strings.Replace(permit(`"duty":{"action":"pay","amount":1,"unit":"USD"}`), `,"permission"`,
		`,"obligation":{"action":"compensate","amount":"0.5","unit":"USD"},"permission"`, 1)
	if c := candidate(t, both); c.Charge.String() != "1.50 USD" {
		t.Errorf("a price and an obligation to pay: %v", c.Charge)
	}
}

func TestProhibitedCountsAreLimits(t *testing.T) {
	doc := func(prohibition string) string {
		return strings.Replace(permit(`"constraint":{"leftOperand":"count","operator":"lteq","rightOperand":500,"unit":"hour"}`),
			`,"permission"`, `,"prohibition":`+prohibition+`,"permission"`, 1)
	}
	target := `"target":"http://example.com/api/intents","action":"execute"`
	for in, want := range map[string][]limit.Rate{
		`{` + target + `,"constraint":{"leftOperand":"count","operator":"gt","rightOperand":400,"unit":"hour"}}`: {{
			Max:    400,
			Period: limit.Hour,
		}},
		`{` + target + `,"constraint":{"leftOperand":"count","operator":"gt","rightOperand":600,"unit":"hour"}}`: {{
			Max:    500,
			Period: limit.Hour,
		}},
		`{` + target + `,"constraint":{"leftOperand":"count","operator":"gteq","rightOperand":400,"unit":"hour"}}`: {{
			Max:    399,
			Period: limit.Hour,
		}},
		`{` + target + `,"constraint":{"leftOperand":"count","operator":"gt","rightOperand":5,"unit":"minute"}}`: {{
			Max:    500,
			Period: limit.Hour,
		}, {Max: 5, Period: limit.Minute}},
		// If a rule has a bound and another constraint, the bound is a separate limit. The limit applies if that constraint is unknown, but not
		// if it is false.
		`{` + target + `,"constraint":[{"leftOperand":"count","operator":"gt","rightOperand":5,"unit":"hour"},{"leftOperand":"purpose","operator":"eq","rightOperand":"x"}]}`:           {{Max: 500, Period: limit.Hour}, {Max: 5, Period: limit.Hour}},
		`{` + target + `,"constraint":[{"leftOperand":"count","operator":"gt","rightOperand":5,"unit":"hour"},{"leftOperand":"dateTime","operator":"lt","rightOperand":"2020-01-01"}]}`: {{Max: 500, Period: limit.Hour}},
	} {
		c := candidate(t, doc(in))
		if len(c.Limits) != len(want) {
			t.Errorf("%s: %v, want %v", in, c.Limits, want)
			continue
		}
		for i := range want {
			if c.Limits[i].Rate != want[i] {
				t.Errorf("%s: %v, want %v", in, c.Limits, want)
			}
		}
	}
}

// The id of a limit depends on the limited rule, but not on the number of the limit or on the price and the position of the rule.
func TestLimitIDs(t *testing.T) {
	base := `"constraint":[{"leftOperand":"rateLimit","operator":"lteq","rightOperand":100,"unit":"hour"}]`
	id := func(doc string) string { t.Helper(); return candidate(t, doc).Limits[0].ID }
	want := id(permit(base))
	for name, doc := range map[string]string{
		"different number":   permit(strings.Replace(base, "100", "7", 1)),
		"different notation": permit(`"constraint":{"leftOperand":"count","operator":"lt","rightOperand":"12","unit":"requests/hour"}`),
		"price and uid":      permit(base + `,"uid":"http://example.com/rule","duty":{"action":"pay","amount":1,"unit":"USD"}`),
		"different position": strings.Replace(permit(base), `"permission":[`,
			`"permission":[{"action":"execute","target":"example.com:buy:v1"},`, 1),
		"additional limit": permit(strings.Replace(base, "]", `,{"leftOperand":"count","operator":"lteq","rightOperand":3,"unit":"year"}]`, 1)),
	} {
		if got := id(doc); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	other := map[string]string{want: "the base"}
	for name, doc := range map[string]string{
		"different period":     permit(strings.Replace(base, "hour", "day", 1)),
		"different action":     strings.Replace(permit(base), `"execute"`, `"use"`, 1),
		"different target":     strings.Replace(permit(base), "http://example.com/api/intents", "example.com", 1),
		"additional condition": permit(strings.Replace(base, "]", `,{"leftOperand":"dateTime","operator":"gt","rightOperand":"2020-01-01"}]`, 1)),
	} {
		got := id(doc)
		if same, ok := other[got]; ok {
			t.Errorf("%s shares the counter of %s", name, same)
		}
		other[got] = name
	}
	if want != "67a2726b443b1746" {
		t.Errorf("the id of a known rule is %s: all existing counters would restart", want)
	}
}

func TestTargets(t *testing.T) {
	for in, want := range map[string]string{ // which intents
		"http://example.com/api/intents":                                        "s1 s2 b o",
		"HTTPS://EXAMPLE.COM/api/intents":                                       "",
		"https://EXAMPLE.com/api/intents":                                       "s1 s2 b o",
		"http://example.com/api/intents/example.com:search-products:v1":         "s1",
		"http://example.com/api/intents/example.com%3Asearch-products%3Av1":     "s1",
		"http://example.com/api/intents/example.com%253Asearch-products%253Av1": "",
		"http://example.com/api/intents/example.com:search-products":            "s1 s2",
		"example.com:search-products:v1":                                        "s1",
		"example.com:search-products":                                           "s1 s2",
		"example.com":                                                           "s1 s2 b",
		"other.org":                                                             "o",
		"http://example.com/uim/execute/Buy":                                    "b",
		"http://example.com/execute/Search%20products":                          "s1",
		"http://example.com/uim/execute/buy":                                    "b o",
		"http://example.com/api/intents-admin":                                  "",
		"http://example.com/api/intentsx":                                       "",
		"http://example.com/api/intents/":                                       "",
		"http://example.com/api/intents/x":                                      "",
		"http://example.com/api/intents/../intents":                             "",
		"http://example.com/api/intents?all":                                    "",
		"http://example.com/api/intents#x":                                      "",
		"http://example.com/x/api/intents":                                      "",
		"http://example.com/api/intents/example.com%2Fsearch-products":          "",
		"http://example.com.evil.org/api/intents":                               "",
		"http://evil.org/api/intents":                                           "",
		"http://example.com@evil.org/api/intents":                               "",
		"http://user@example.com/api/intents":                                   "",
		"http://example.com:8080/api/intents":                                   "",
		"http://example.com./api/intents":                                       "",
		"http://example.com":                                                    "",
		"example.com.evil.org":                                                  "",
		"example.com:search-products:v3":                                        "",
		"example.com:search":                                                    "",
		"example.com:*":                                                         "",
		"*":                                                                     "",
		"http://other.org/api/intents":                                          "",
	} {
		doc := strings.Replace(permit(""), "http://example.com/api/intents", in, 1)
		p, problems := odrl.Publish(t.Context(), []byte(doc), world())
		if want == "" {
			if p != nil || !has(problems, problem.Error, "target", "/permission/0/target") {
				t.Errorf("%s: published, or refused for another reason: %v", in, problems)
			}
			continue
		}
		if p == nil {
			t.Errorf("%s: %v", in, problems)
			continue
		}
		var got []string
		for i, a := range world().Intents {
			if decide(t, p, odrl.Request{AgentID: "a", Intent: a.UID, Now: noon}).Permit {
				got = append(got, []string{"s1", "s2", "b", "o"}[i])
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", in, got, want)
		}
	}
}

func TestEachWrittenTargetHasACounter(t *testing.T) {
	doc := strings.Replace(permit(`"constraint":{"leftOperand":"count","operator":"lteq","rightOperand":1,"unit":"day"}`),
		`"http://example.com/api/intents"`, `["example.com:search-products","example.com:buy:v1","http://example.com/api/intents/example.com:buy:v1"]`, 1)
	p := publish(t, []byte(doc), world())
	ids := map[string]string{}
	for _, a := range world().Intents[:3] {
		d := decide(t, p, odrl.Request{AgentID: "a", Intent: a.UID, Now: noon})
		if len(d.Candidates) != 1 || len(d.Candidates[0].Limits) != 1 {
			t.Fatalf("got %+v", d)
		}
		ids[a.UID] = d.Candidates[0].Limits[0].ID
	}
	if ids["example.com:search-products:v1"] != ids["example.com:search-products:v2"] ||
		ids["example.com:search-products:v1"] == ids["example.com:buy:v1"] {
		t.Errorf("got %v", ids)
	}
}

func TestPartiesInEveryForm(t *testing.T) {
	for name, more := range map[string]string{
		"a text":       `"assignee":"http://example.com/ai-agent/2"`,
		"an object":    `"assignee":[{"uid":"http://example.com/ai-agent/2","role":"client"}]`,
		"a prefix":     `"odrl:assignee":{"@id":"http://example.com/ai-agent/2","@type":"odrl:Party"}`,
		"a party":      `"party":{"function":"odrl:assignee","identifier":{"@id":"http://example.com/ai-agent/2"}}`,
		"a party's id": `"party":[{"function":{"@id":"odrl:assignee"},"uid":"http://example.com/ai-agent/2"}]`,
	} {
		for where, doc := range map[string]string{
			"rule": permit(more), "policy": strings.Replace(permit(""), `,"permission"`, `,`+more+`,"permission"`, 1),
		} {
			p := publish(t, []byte(doc), world())
			for _, tt := range []struct {
				agent, key string
				want       bool
			}{{"agent-2", "jkt-2", true}, {"agent-2", "jkt-1", false}, {"agent-2", "", false}, {"agent-1", "jkt-2", false}, {
				"", "",
				false,
			}, {"http://example.com/ai-agent/2", "jkt-2", false}} {
				if d := decide(t, p, odrl.Request{AgentID: tt.agent, KeyID: tt.key, Intent: search.UID, Now: noon}); d.Permit != tt.want {
					t.Errorf("%s on the %s: %s with key %q: %v, want %v", name, where, tt.agent, tt.key, d.Permit, tt.want)
				}
			}
		}
	}
}

func TestGraphOfOnePolicy(t *testing.T) {
	doc := `{"@context":{"odrl":"http://www.w3.org/ns/odrl/2/"},"@graph":[{"@id":"http://shop.example/p","@type":"odrl:Set","odrl:permission":[{"odrl:target":{"@id":"http://shop.example/api/intents"},
		"odrl:action":{"@id":"odrl:use"},"odrl:constraint":[{"odrl:leftOperand":{"@id":"odrl:purpose"},"odrl:operator":{"@id":"odrl:eq"},"odrl:rightOperand":{"@id":"http://p.example/research"}}]}]}]}`
	p := publish(t, []byte(doc), world())
	d := decide(t, p, odrl.Request{AgentID: "a", Intent: search.UID, Now: noon, Facts: map[string]any{"purpose": "http://p.example/research"}})
	if !d.Permit || d.Rule != "/@graph/0/odrl:permission/0" || p.UID() != "http://shop.example/p" {
		t.Errorf("got %+v", d)
	}
}

// Terms in a document may use its own prefixes and aliases.
func TestInlineContexts(t *testing.T) {
	doc := `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"o":"https://www.w3.org/ns/odrl/2/","run":"odrl:execute","u":{"@id":"http://example.com/vocab/","@prefix":true},"ex":"http://p.example/","odrl":"http://www.w3.org/ns/odrl/2/"}],
		"uid":"http://example.com/p","o:permission":{"target":"http://example.com/api/intents","action":"run","o:constraint":[{"leftOperand":"u:rateLimit","operator":"o:lteq","rightOperand":5,"unit":"u:hour"},
		{"leftOperand":"o:purpose","operator":"isAnyOf","rightOperand":["ex:research",{"@id":"ex:teaching"}]}]}}`
	p := publish(t, []byte(doc), world())
	for purpose, want := range map[string]bool{
		"http://p.example/research": true, "http://p.example/teaching": true, "ex:research": false,
		"research": false,
	} {
		d := decide(t, p, odrl.Request{AgentID: "a", Intent: search.UID, Now: noon, Facts: map[string]any{"purpose": purpose}})
		if d.Permit != want {
			t.Errorf("%s: %+v", purpose, d)
		}
	}
}
