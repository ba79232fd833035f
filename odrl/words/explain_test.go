package words_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/words"
)

func shop() odrl.World {
	w := odrl.World{
		Hosts: []string{"shop.example"},
		Parties: map[string]odrl.Party{
			"https://shop.example/agents/partner": {AgentID: "secret-agent-id", KeyID: "secret-key-id"},
			"http://example.com/ai-agent/1":       {AgentID: "secret-agent-id", KeyID: "secret-key-id"},
			"https://shop.example/assignee":       {AgentID: "secret-agent-id", KeyID: "secret-key-id"},
		},
	}
	for name, title := range map[string]string{
		"search-products": "SearchProducts", "product-details": "GetProductDetails",
		"place-order": "PlaceOrder",
	} {
		w.Intents = append(w.Intents, odrl.Asset{UID: "shop.example:" + name + ":v1", Namespace: "shop.example", Name: name, Title: title})
	}
	slices.SortFunc(w.Intents, func(a, b odrl.Asset) int { return strings.Compare(a.UID, b.UID) })
	return w
}

// written formats sentences for the golden file.
func written(list []words.Sentence) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%s: %s", s.Topic, s.Text)
		if s.Rule != "" {
			fmt.Fprintf(&b, " [%s]", s.Rule)
		}
		b.WriteByte('\n')
		for _, t := range s.Terms {
			b.WriteString("  - " + t + "\n")
		}
	}
	return b.String()
}

// The sentences of every example policy. Read the golden file when it changes, because lawyers see these sentences.
func TestExplainExamplePolicies(t *testing.T) {
	names, err := filepath.Glob("../../examples/policies/*.json")
	if err != nil || len(names) < 10 {
		t.Fatalf("got %v, %v; want a length of at least 10, nil", names, err)
	}
	var b strings.Builder
	for _, name := range append(names, "../../examples/shop/policy.json") {
		doc, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p := publish(t, doc, shop())
		fmt.Fprintf(&b, "== %s\n%s\n", strings.TrimPrefix(name, "../../examples/"), written(words.Explain(p)))
	}
	for name, w := range map[string]odrl.World{"homes.json": homes()} {
		fmt.Fprintf(&b, "== %s\n%s\n", name, written(words.Explain(publish(t, read(t, "../testdata/"+name), w))))
	}
	fmt.Fprintf(&b, "== draft.json\n%s\n", written(words.Explain(publish(t, read(t, "../testdata/draft.json"), world()))))
	if strings.Contains(b.String(), "secret-") {
		t.Error("the sentences contain the agents that the operator maps to a party")
	}
	const golden = "testdata/plain.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(read(t, "testdata/plain.txt")), b.String()); diff != "" {
		t.Errorf("(-want +got; -update after reading it):\n%s", diff)
	}
}

func TestExplainConditions(t *testing.T) {
	and := func(op string, parts ...string) string { return `{"` + op + `":[` + strings.Join(parts, ",") + `]}` }
	purpose, region := leaf("purpose", "eq", "research"), leaf("spatial", "isPartOf", "de")
	for c, want := range map[string]string{
		purpose:                       `the purpose is "research"`,
		leaf("purpose", "neq", "ads"): `the purpose is not "ads"`,
		leaf("purpose", "isAnyOf", list{"b", "a"}):       `the purpose is "a" or "b"`,
		leaf("purpose", "isNoneOf", list{"b", "a", "c"}): `the purpose is not "a", "b" or "c"`,
		leaf("language", "isAllOf", list{"en", "de"}):    `the language is all of DE and EN`,
		region:                              `the region is DE or part of it`,
		leaf("spatial", "hasPart", "US-CA"): `the region contains US-CA`,
		leaf("spatial", "eq", "http://cvx.iptc.org/iso3166-1a3/DEU"):                            `the region is DE`,
		leaf("language", "eq", "http://publications.europa.eu/resource/authority/language/DEU"): `the language is DE`,
		leaf("virtualLocation", "isPartOf",
			"files.example.com"): `the place on the network is files.example.com or part of it`,
		leaf("recipient", "eq", "https://a.example/1"): `the recipient is "https://a.example/1"`,
		leaf("version", "gteq", "v2"):                  `the version of the intent is at least 2.0.0`,
		leaf("version", "lt", "2.1"):                   `the version of the intent is below 2.1.0`,
		leaf("dateTime", "lt", "2030-12-31"):           `the call is made before 31 December 2030 (UTC)`,
		leaf("dateTime", "gt", "2030-12-31"):           `the call is made no earlier than 1 January 2031 (UTC)`,
		leaf("dateTime", "eq", "2030-12-31"):           `the call is made on 31 December 2030 (UTC)`,
		leaf("dateTime", "neq", "2030-12-31"):          `the call is made on any day except 31 December 2030 (UTC)`,
		leaf("dateTime", "lteq",
			"2030-12-31T01:00:00.5+01:00"): `the call is made no later than 31 December 2030, 00:00:00.5 UTC`,
		leaf("dateTime", "gt", "2030-12-31T00:00:00Z"):                `the call is made after 31 December 2030, 00:00:00 UTC`,
		leaf("dateTime", "eq", "2030-12-31T00:00:00Z"):                `the call is made at 31 December 2030, 00:00:00 UTC`,
		leaf("timeWindow", "within", "09:00:00+02:00/17:00:30+02:00"): `the call is made from 07:00 until just before 15:00:30 (UTC)`,
		leaf("timeWindow", "outside",
			"09:00:00Z/17:00:00Z"): `the call is made from 17:00 until just before 09:00 on the next day (UTC)`,
		leaf("timeWindow", "outside", "00:00:00Z/06:00:00Z"): `the call is made from 06:00 until just before 24:00 (UTC)`,
		leaf("timeWindow", "outside", "18:00:00Z/24:00:00Z"): `the call is made from 00:00 until just before 18:00 (UTC)`,
		leaf("timeWindow", "outside", "22:00:00Z/06:00:00Z"): `the call is made from 06:00 until just before 22:00 (UTC)`,
		leaf("timeWindow", "within", "18:00:00Z/00:00:00Z"):  `the call is made from 18:00 until just before 24:00 (UTC)`,
		leaf("dateTime", "within",
			"2030-01-01/2030-12-31"): `the call is made no earlier than 1 January 2030 (UTC) and before 1 January 2031 (UTC)`,
		leaf("dateTime", "outside",
			"2030-01-01T00:00:00Z/2030-01-02T12:00:00Z"): `the call is made before 1 January 2030 (UTC), or no earlier than 2 January 2030, 12:00:00 UTC`,
		and("or", purpose, region): `the purpose is "research", or the region is DE or part of it`,
		and("xone", purpose, and("and", region,
			purpose)): `exactly one of these is true: (1) the purpose is "research"; (2) the region is DE or part of it, and the purpose is "research"`,
	} {
		p := publish(t, []byte(policy(`"permission":{"target":"example.com:buy:v1","action":"execute","constraint":`+c+`}`)), world())
		s := words.Explain(p)[0]
		if s.Terms[0] != "Only if "+want+"." {
			t.Errorf("%s\n got %s\nwant Only if %s.", c, s.Terms[0], want)
		}
		open := strings.Contains(c, "purpose") || strings.Contains(c, "spatial") || strings.Contains(c, "language") ||
			strings.Contains(c, "virtualLocation")
		if got := len(s.Terms) == 2 && s.Terms[1] == "If a call leaves that open, the permission does not apply."; got != open {
			t.Errorf("%s: the unknown part: %q", c, s.Terms)
		}
	}
}

func TestExplainRules(t *testing.T) {
	const buy, searches = `"target":"example.com:buy:v1"`, `"target":"example.com:search-products"`
	permit := `"permission":{` + buy + `,"action":"execute"}`
	for rules, want := range map[string]string{
		`"prohibition":{` + searches + `,"action":"execute","constraint":` + leaf("purpose", "eq", "ads") + `}`: `
forbidden: No agent may call any version of example.com:search-products if the purpose is "ads". [/prohibition]
  - If a call leaves that open, the rule still applies.
generally: If one rule permits a call and another forbids it, the call is refused as a conflict of the policy.
generally: Calls that no permission covers are refused.`,
		`"prohibition":{"target":"example.com","action":"use","assignee":["http://example.com/ai-agent/1","http://example.com/ai-agent/2"],
			"constraint":[` + leaf("dateTime", "lt", "2030-01-01") + `,` + leaf("version", "eq", "v1") + `]},"conflict":"perm"`: `
forbidden: Each of the parties "http://example.com/ai-agent/1" and "http://example.com/ai-agent/2" may not call any intent of example.com if the call is made before 1 January 2030 (UTC), and if the version of the intent is 1.0.0. [/prohibition]
generally: If one rule permits a call and another forbids it, the call is permitted.
generally: Calls that no permission covers are refused.`,
		`"prohibition":{"target":"https://example.com/api/intents","action":"execute","constraint":{"leftOperand":"count","operator":"gteq","rightOperand":2}}`: `
forbidden: No agent may call any intent of this service more than once in total. [/prohibition]
  - Calls to all these intents are counted together.
generally: Calls that no permission covers are refused.`,
		`"prohibition":{` + buy + `,"action":"distribute"}`: `
generally: Calls that no permission covers are refused.
generally: This prohibition of distribute is part of the agreement but is not enforced by the gateway. [/prohibition/action]`,
		`"obligation":[{` + searches + `,"action":"pay","amount":1,"unit":"EUR","constraint":` + leaf("spatial", "eq", "DE") + `},{` + buy + `,"action":"inform","description":"us"}]`: `
owed: If the region is DE, each call to any version of example.com:search-products costs 1.00 EUR, in addition to any price of its permission. [/obligation/0]
  - If a call leaves that open, the rule still applies.
  - The same applies to a part of a place or language that is named there.
owed: The service is informed of each call to example.com:buy:v1: "us". [/obligation/1]
generally: Calls that no permission covers are refused.`,
	} {
		p := publish(t, []byte(policy(permit, rules)), world())
		got := written(words.Explain(p))
		_, rest, _ := strings.Cut(got, "\n")
		if diff := cmp.Diff(strings.TrimPrefix(want, "\n")+"\n", rest); diff != "" {
			t.Errorf("%s (-want +got):\n%s", rules, diff)
		}
	}
}

func TestExplainPermissionsAndDuties(t *testing.T) {
	key := `"MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="`
	p := publish(t, []byte(policy(`"permission":[
		{"target":["example.com:buy:v1","https://example.com/api/intents"],"action":"use","constraint":[{"leftOperand":"count","operator":"lteq","rightOperand":1,"unit":"week"}],
		 "duty":[{"action":"pay","amount":"1.5","unit":"EUR"},{"action":"pay","amount":"0.5","unit":"EUR"},
		  {"action":"pay","amount":2,"unit":"EUR","constraint":`+leaf("purpose", "eq", "ads")+`},
		  {"action":"signPayload","constraint":{"leftOperand":"publicKey","operator":"eq","rightOperand":`+key+`}},
		  {"action":"acceptTracking"}]},
		{"target":"example.com:buy:v1","action":"execute"}]`)), world())
	const want = `permitted: Every agent may call example.com:buy:v1 and every intent of this service. [/permission/0]
  - At most 1 call in any week, for each agent.
  - Each name in this rule is counted separately; the intents that one name refers to are counted together.
  - Each call costs 2.00 EUR.
  - A call costs 2.00 EUR if the purpose is "ads", in addition to any other price.
  - If a call leaves that open, this is still owed.
  - Each call must be signed with the key SHA256:BuP9j9opu2CrWVV95h7bCuzbIxE0vjDnW0Vfjht5L6k.
  - The agent accepts that each call is tracked.
permitted: Every agent may call example.com:buy:v1. [/permission/1]
  - Free of charge.
generally: If several permissions cover a call, the cheapest whose limits are not used up applies.
generally: Calls that no permission covers are refused.
`
	if diff := cmp.Diff(want, written(words.Explain(p))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExplainShortensManyTargets(t *testing.T) {
	w := odrl.World{}
	var targets []string
	for i := range 1000 {
		name := fmt.Sprintf("i%03d", i)
		w.Intents = append(w.Intents, odrl.Asset{UID: "example.com:" + name + ":v1", Namespace: "example.com", Name: name, Title: name})
		targets = append(targets, `"example.com:`+name+`:v1"`)
	}
	p := publish(t, []byte(policy(`"permission":{"action":"execute","target":[`+strings.Join(targets, ",")+`]}`)), w)
	list := words.Explain(p)
	if len(list) != 2 || !strings.HasSuffix(list[0].Text, "example.com:i009:v1 and 990 more.") || strings.Count(list[0].Text, ":v1") != 10 {
		t.Errorf("got %+v", list)
	}
	if again := words.Explain(p); !cmp.Equal(list, again) {
		t.Error("two explanations differ")
	}
}

func FuzzPlain(f *testing.F) {
	names, err := filepath.Glob("../../examples/policies/*.json")
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		doc, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(doc)
	}
	archive, err := txtar.ParseFile("testdata/explain.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, policy := range archive.Files {
		if strings.HasSuffix(policy.Name, ".json") {
			f.Add(policy.Data)
		}
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		published, _ := odrl.Publish(t.Context(), doc, shop())
		loaded, _ := odrl.Load(t.Context(), doc, odrl.LoadOptions{Lenient: true})
		for _, p := range []*odrl.Policy{published, loaded} {
			if p == nil {
				continue
			}
			sentences := words.Explain(p)
			if len(sentences) == 0 || !cmp.Equal(sentences, words.Explain(p)) {
				t.Fatalf("got %+v", sentences)
			}
			for _, s := range sentences {
				for _, text := range append([]string{s.Text}, s.Terms...) {
					starts := text[0] >= 'A' && text[0] <= 'Z' || s.Topic == words.Noted
					if !strings.HasSuffix(text, ".") || !starts || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
						t.Fatalf("got %q", text)
					}
				}
			}
		}
	})
}
