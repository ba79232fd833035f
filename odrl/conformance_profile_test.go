package odrl_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/odrl"
)

// published publishes a policy and decides a request for an intent under it, as the gateway does.
func published(doc string, change func(*odrl.Request), want string) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		p, problems := odrl.Publish(t.Context(), []byte(doc), world())
		if p == nil {
			code := ""
			for _, x := range problems {
				if code == "" && x.Level == "error" {
					code = "error `" + x.Code + "`"
				}
			}
			if code != want {
				t.Errorf("%s\n%v, want %s", doc, problems, want)
			}
			return "published: " + code
		}
		r := odrl.Request{AgentID: "agent-1", Intent: search.UID, Now: noon}
		if change != nil {
			change(&r)
		}
		d := decide(t, p, r)
		got := string(d.Reason)
		if d.Permit {
			got = ok
			for _, l := range d.Candidates[0].Limits {
				got += " limit:" + l.String()
			}
			if c := d.Candidates[0].Charge; c.Nano != 0 {
				got += " charge:" + c.String()
			}
		}
		if got != want {
			t.Errorf("%s\n%s (%s), want %s", doc, got, d.Detail, want)
		}
		return "published; a call → " + got
	}
}

func profileRows() []row {
	const intents = `"target":"http://example.com/api/intents"`
	targeting := func(target string) string {
		return `{` + head + `,"permission":[{"target":"` + target + `","action":"execute"}]}`
	}
	rule := func(more string) string { return permit(more) }
	key := []byte("agent key")
	signed := func(r *odrl.Request) { r.AgentKey, r.ProofKey = key, key }
	purpose := func(p string) func(*odrl.Request) {
		return func(r *odrl.Request) { r.Facts = map[string]any{"purpose": p} }
	}
	at := func(now time.Time) func(*odrl.Request) { return func(r *odrl.Request) { r.Now = now } }
	limit := func(c string) string { return rule(`"constraint":` + c) }
	list := []row{}
	add := func(name, from, says, doc string, change func(*odrl.Request), want string) {
		list = append(list, row{name: name, from: from, says: says, try: published(doc, change, want)})
	}
	for _, profile := range []string{
		"http://example.com/profile/odrl-uim", "http://uimprotocol.com/uim/odrl-profile",
		"http://uimprotocol.org/ns/policy", "http://www.w3.org/ns/odrl/2/core",
	} {
		add("profile "+profile, "UIM 6.2", "The profile is known by this name.",
			strings.Replace(permit(""), `"uid"`, `"profile":"`+profile+`","uid"`, 1), nil, ok)
	}
	add("unknown profile", "IM 3.2", "A policy with any other profile cannot be published.",
		strings.Replace(permit(""), `"uid"`, `"profile":"http://other.example/profile","uid"`, 1), nil, "error `unknown-profile`")
	for _, s := range []struct{ written, means string }{{"lte", "yes"}, {"lteq", "yes"}, {"gte", "no"}, {"ne", "yes"}, {"neg", "yes"}} {
		c := one("dateTime", s.written, `"2026-12-31T00:00:00Z"`)
		add("operator "+s.written, "UIM 6.2", "The operator is read as an operator of ODRL.",
			limit(c), nil, map[string]string{"yes": ok, "no": none}[s.means])
	}
	add("operator use", "UIM 6.2", "The operator is read for public keys only.", limit(one("purpose", "use", `"a"`)), nil, "error `operator`")
	kinds := []string{"an object", "an interval"}
	window := `{"leftOperand":"http://example.com/vocab/timeWindow","operator":"%s","rightOperand":%s}`
	for i, w := range []string{
		`{"start":"2026-06-01T00:00:00Z","end":"2026-06-30T00:00:00Z"}`,
		`"2026-06-01T00:00:00Z/2026-06-30T00:00:00Z"`,
	} {
		add("within "+kinds[i], "UIM 6.2", "Inside the window, as an object or an interval.", limit(fmt.Sprintf(window, "within", w)), nil, ok)
		add("not within "+kinds[i], "UIM 6.2", "Not satisfied after the window.",
			limit(fmt.Sprintf(window, "within", w)), at(noon.AddDate(0, 1, 0)), none)
		add("outside "+kinds[i], "UIM 6.2", "Outside is the opposite of within.", limit(fmt.Sprintf(window, "outside", w)), nil, none)
	}
	for i, x := range [][2]string{
		{
			`{"leftOperand":"http://example.com/vocab/rateLimit","operator":"lteq","rightOperand":100,"unit":"http://example.com/vocab/hour"}`,
			"100/hour",
		},
		{`{"leftOperand":"rate","operator":"lteq","rightOperand":"100","unit":"requests/hour"}`, "100/hour"},
		{`{"leftOperand":"rateLimit","operator":"lt","rightOperand":100,"unit":"odrl:hour"}`, "99/hour"},
		{`{"leftOperand":"count","operator":"lteq","rightOperand":5,"unit":"PT1H"}`, "5/hour"},
		{`{"leftOperand":"count","operator":"lteq","rightOperand":5}`, "5/lifetime"},
		{`{"leftOperand":"count","operator":"lteq","rightOperand":5,"status":2}`, "3/lifetime"},
		{`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":7,"unit":"second"}`, "7/second"},
		{`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":7,"unit":"minute"}`, "7/minute"},
		{`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":7,"unit":"day"}`, "7/day"},
		{`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":7,"unit":"week"}`, "7/week"},
		{`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":7,"unit":"month"}`, "7/month"},
		{`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":7,"unit":"year"}`, "7/year"},
	} {
		list = append(list, row{
			name: fmt.Sprint("limit ", i+1, " ", x[1]), from: "UIM 6.2", says: "`" + x[0] + "` limits calls.",
			try: published(limit(x[0]), nil, ok+" limit:"+x[1]),
		})
	}
	add("limit by gt", "UIM 6.2, uimgate", "A limit that permits calls only above it is refused.",
		limit(`{"leftOperand":"rateLimit","operator":"gt","rightOperand":5,"unit":"hour"}`), nil, "error `limit`")
	add("limit as a prohibition", "UIM mock service", "A prohibition above a count permits calls up to the count.",
		`{`+head+`,"permission":{`+intents+`,"action":"use"},"prohibition":{`+intents+`,"action":[{"rdf:value":{"@id":"odrl:execute"},"refinement":{"leftOperand":"count","operator":"gt","rightOperand":3,"unit":"day"}}]}}`, nil, ok+" limit:3/day")
	add("exceedRateLimit", "UIM 6.2", "A prohibition of exceedRateLimit does not prohibit execute.",
		`{`+head+`,"permission":{`+intents+`,"action":"execute"},"prohibition":{`+intents+`,"action":"exceedRateLimit"}}`, nil, ok)
	for _, x := range [][2]string{
		{`{"action":"pay","amount":0.01,"unit":"http://example.com/vocab/USD"}`, "0.01 USD"},
		{`{"action":"compensate","amount":{"value":"2","currency":"GBP"}}`, "2.00 GBP"},
		{`{"action":[{"rdf:value":{"@id":"odrl:compensate"},"refinement":[{"leftOperand":"payAmount","operator":"eq","rightOperand":5,"unit":"http://dbpedia.org/resource/Euro"}]}]}`, "5.00 EUR"},
		{`{"action":"pay","constraint":{"leftOperand":"paymentAmount","operator":"eq","rightOperand":"0.001","unit":"USD"}}`, "0.001 USD"},
	} {
		list = append(list, row{
			name: "price " + x[1], from: "UIM 6.2", says: "`" + x[0] + "` is owed for each call.",
			try: published(rule(`"duty":`+x[0]), nil, ok+" charge:"+x[1]),
		})
	}
	add("unknown currency", "UIM 6.2, uimgate", "An unknown currency is refused.",
		rule(`"duty":{"action":"pay","amount":1,"unit":"http://example.com/vocab/SHELLS"}`), nil, "error `currency`")
	for _, x := range []struct{ target, want string }{
		{"http://example.com/api/intents", ok},
		{"example.com", ok},
		{"example.com:search-products", ok},
		{"example.com:search-products:v1", ok},
		{"http://example.com/api/intents/example.com:search-products:v1", ok},
		{"http://example.com/api/intents/example.com%3Asearch-products%3Av1", ok},
		{"example.com:buy:v1", none},
		{"http://example.com/api/intents-admin", "error `target`"},
		{"http://example.com.evil.org/api/intents", "error `target`"},
	} {
		add("target "+x.target, "UIM 6.2, uimgate", "The target selects intents of the service.", targeting(x.target), nil, x.want)
	}
	sign := `{` + head + `,"permission":{` + intents + `,"action":"execute"},"obligation":{"action":"signPayload","constraint":{"leftOperand":"http://example.com/vocab/publicKey","operator":"use","rightOperand":"MIIBIjANBgkqh..."}}}`
	add("signed", "UIM 6.2", "A call signed with the agent's agreed key is permitted. This key replaces the key that the policy omits.", sign, signed, ok)
	add("not signed", "UIM 6.2", "A call that is not signed is denied.", sign, nil, unmet)
	add("signed by another", "UIM 6.2", "A call signed with another key is denied.", sign,
		func(r *odrl.Request) { r.AgentKey, r.ProofKey = key, []byte("another") }, unmet)
	bound := rule(`"assignee":"http://example.com/ai-agent/1"`)
	add("assignee", "UIM 6.2", "An assignee is the agent that the service knows by that IRI.", bound, nil, ok)
	add("another agent", "UIM 6.2", "Other agents are not assignees.", bound, func(r *odrl.Request) { r.AgentID = "agent-9" }, none)
	add("party", "UIM 6.2", "A list of parties assigns functions to them.", strings.Replace(permit(""), `"uid"`,
		`"party":[{"function":"assignee","identifier":"http://example.com/ai-agent/1"}],"uid"`, 1), func(r *odrl.Request) { r.AgentID = "agent-9" }, none)
	add("asset", "UIM 6.2", "asset is the target of rules without one.",
		`{`+head+`,"asset":"http://example.com/api/intents","permission":[{"action":"execute"}]}`, nil, ok)
	add("purpose", "UIM 6.2", "A declared purpose satisfies the constraint.", limit(one("purpose", "eq", `"research"`)), purpose("research"), ok)
	add("purpose not declared", "UIM 6.2, uimgate", "Without a declared purpose, the constraint is not satisfied.", limit(one("purpose", "neq", `"ads"`)), nil, none)
	add("no fact", "uimgate", "A constraint on an operand without a known value is not satisfied.", limit(one("absolutePosition", "eq", `5`)), nil, none)
	given := func(operand string, v any) func(*odrl.Request) {
		return func(r *odrl.Request) { r.Facts = map[string]any{operand: v} }
	}
	add("a size", "V 4.5, uimgate", "A number of a call is compared exactly.", limit(one("absoluteSize", "lteq", `"0.3"`)),
		given("absoluteSize", json.Number("0.30")), ok)
	add("no size", "V 4.5, uimgate", "A value that is not a size, such as a word or a negative number, does not satisfy the constraint.",
		limit(one("absoluteSize", "lteq", `"0.3"`)), given("absoluteSize", json.Number("-1")), none)
	add("a length of time", "V 4.5, XSD 1.0 3.2.6.2", "Durations are compared if their months permit it.", limit(one("elapsedTime", "lt", `"P32D"`)),
		given("elapsedTime", "P1M"), ok)
	add("a month or thirty days", "V 4.5, XSD 1.0 3.2.6.2", "Otherwise the comparison is unknown.",
		limit(one("elapsedTime", "lteq", `"P30D"`)), given("elapsedTime", "P1M"), none)
	add("an address in a range", "V 4.5, uimgate", "An address matches a range if it is in the range.", limit(one("virtualLocation", "eq", `"10.0.0.0/8"`)),
		given("virtualLocation", "10.1.2.3"), ok)
	add("a name and an address", "V 4.5, uimgate", "A comparison of an address with a name is unknown.",
		limit(one("virtualLocation", "neq", `"example.com"`)), given("virtualLocation", "10.1.2.3"), none)
	add("to come", "uimgate", "A policy with a constraint that no fact of a call can decide, such as whether an event is over, cannot be published.",
		limit(one("event", "lt", `"http://example.com/fair"`)), nil, "error `operator`")
	add("duty without handler", "uimgate", "A policy with a duty that no handler fulfils cannot be published.", rule(`"duty":{"action":"watermark"}`), nil,
		"error `no-handler`")
	return list
}
