package odrl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/odrl"
)

// outcome returns permit or the reason of the denial.
func outcome(e odrl.Evaluation) string {
	if e.Permit {
		return "permit"
	}
	return string(e.Reason)
}

func report(t *testing.T, e odrl.Evaluation, rule string) odrl.RuleReport {
	t.Helper()
	for _, r := range e.Rules {
		if r.Rule == rule || strings.TrimPrefix(r.Rule, "http://example.org/") == rule {
			return r
		}
	}
	t.Fatalf("no report of %s: %+v", rule, e.Rules)
	return odrl.RuleReport{}
}

// ODRL IM 2.4 includedIn, ODRL V 3.9, and the replacements of the deprecated actions in 4.6.
func TestConformanceActionHierarchy(t *testing.T) {
	for _, tt := range []struct {
		rule, request string
		want          bool
	}{
		{"use", "use", true},
		{"use", "read", true},
		{"use", "odrl:read", true},
		{"use", "http://www.w3.org/ns/odrl/2/read", true},
		{"use", "display", true},
		{"use", "write", true},
		{"use", "odrl:write", true},
		{"modify", "write", true},
		{"odrl:write", "modify", true},
		{"use", "pay", true},
		{"play", "display", true},
		{"reproduce", "extract", true},
		{"display", "play", false},
		{"read", "use", false},
		{"use", "sell", false},
		{"use", "transfer", false},
		{"use", "give", false},
		{"transfer", "sell", true},
		{"sell", "transfer", false},
		{"read", "write", false},
		{"use", "http://example.org/dance", false},
		{"use", "exceedRateLimit", false},
		{"use", "CommercialUse", true},
		{"execute", "use", false},
	} {
		p := load(t, set(`"permission":{"assignee":"ex:alice","target":"ex:x","action":"`+tt.rule+`"}`))
		e := evaluate(t, p, `{"party":"http://example.org/alice","action":"`+tt.request+`","target":"http://example.org/x"}`, noWorld, "")
		if e.Permit != tt.want {
			t.Errorf("%s of %s: %s", tt.rule, tt.request, outcome(e))
		}
		f := load(t, set(`"conflict":"prohibit"`, `"permission":{"target":"ex:x","action":["use","transfer","ex:dance"]}`,
			`"prohibition":{"assignee":"ex:alice","target":"ex:x","action":"`+tt.rule+`"}`))
		e = evaluate(t, f, `{"party":"http://example.org/alice","action":"`+tt.request+`","target":"http://example.org/x"}`, noWorld, "")
		if (outcome(e) == "POLICY_VIOLATION") != tt.want && tt.request != "exceedRateLimit" {
			t.Errorf("prohibiting %s, asked %s: %s", tt.rule, tt.request, outcome(e))
		}
	}
}

// ODRL IM 2.4: actions of a profile, and implies.
func TestConformanceActionFacts(t *testing.T) {
	dance := `{"@id":"http://example.org/dance","@type":"Action","includedIn":"odrl:present","implies":"http://example.org/move"}`
	doc := func(rules string) string {
		return `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"ex":"http://example.org/"}],"@graph":[` + dance + `,{"uid":"http://example.org/policy","type":"Set","conflict":"invalid",` + rules + `}]}`
	}
	request := `{"party":"http://example.org/alice","action":"http://example.org/dance","target":"http://example.org/x"}`
	if e := evaluate(t, load(t, doc(`"permission":{"target":"ex:x","action":"use"}`)), request, noWorld, ""); !e.Permit {
		t.Errorf("use does not cover an included action: %+v", e)
	}
	for rule, want := range map[string]string{"http://example.org/move": "POLICY_CONFLICT", "http://example.org/sing": "permit"} {
		e := evaluate(t, load(t,
			doc(`"permission":{"target":"ex:x","action":"ex:dance"},"prohibition":{"target":"ex:x","action":"`+rule+`"}`)), request, noWorld, "")
		if outcome(e) != want {
			t.Errorf("dance implies move, prohibited %s: %s, want %s", rule, outcome(e), want)
		}
	}
	if e := evaluate(t, load(t, doc(`"permission":{"target":"ex:x","action":"ex:dance"}`)), strings.Replace(request, "dance", "move", 1),
		noWorld, ""); e.Permit {
		t.Error("a permission of dance permits the implied move")
	}
}

// ODRL IM 2.2, 2.3: assets and parties, their collections, and rules without them.
func TestConformanceTargetsAndParties(t *testing.T) {
	world := `{"partOf":[{"member":"http://example.org/alice","collection":"http://example.org/staff"},{"member":"http://example.org/staff","collection":"http://example.org/people"},
		{"member":"http://example.org/x","collection":"http://example.org/things"},{"member":"http://example.org/people","collection":"http://example.org/staff"}]}`
	for _, tt := range []struct{ name, rule, want string }{
		{"as named", `"assignee":"ex:alice","target":"ex:x"`, "permit"},
		{"expanded", `"assignee":"http://example.org/alice","target":"http://example.org/x"`, "permit"},
		{"another party", `"assignee":"ex:bob","target":"ex:x"`, "POLICY_NOT_APPLICABLE"},
		{"another asset", `"assignee":"ex:alice","target":"ex:y"`, "POLICY_NOT_APPLICABLE"},
		{"a prefix is not a match", `"assignee":"ex:alic","target":"ex:"`, "POLICY_NOT_APPLICABLE"},
		{"longer is not a match", `"assignee":"ex:alice2","target":"ex:x/y"`, "POLICY_NOT_APPLICABLE"},
		{"everyone", `"target":"ex:x"`, "permit"},
		{"any asset", `"assignee":"ex:alice"`, "permit"},
		{"collections, transitively", `"assignee":"ex:people","target":"ex:things"`, "permit"},
		{
			"the source of a collection",
			`"assignee":{"@type":"PartyCollection","uid":"ex:pc","source":"ex:staff"},"target":{"@type":"AssetCollection","source":"ex:things"}`,
			"permit",
		},
		{"another source", `"assignee":{"@type":"PartyCollection","source":"ex:others"},"target":"ex:x"`, "POLICY_NOT_APPLICABLE"},
		{"partOf in the document", `"assignee":"ex:alice","target":[{"uid":"ex:y"},{"uid":"ex:z"}]`, "POLICY_NOT_APPLICABLE"},
		{"one of several", `"assignee":["ex:bob","ex:alice"],"target":["ex:y","ex:x"]`, "permit"},
	} {
		e := evaluate(t, load(t, set(`"permission":{"uid":"ex:p","action":"read",`+tt.rule+`}`)), aliceReads, world, "")
		if outcome(e) != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, outcome(e), tt.want)
		}
		r := report(t, e, "p")
		if (r.Premise.Party == "") == strings.Contains(tt.rule, "assignee") || (r.Premise.Target == "") == strings.Contains(tt.rule,
			"target") || r.Premise.Action != odrl.Satisfied {
			t.Errorf("%s: premises %+v", tt.name, r.Premise)
		}
		if (r.Activation == odrl.Active) != e.Permit {
			t.Errorf("%s: %s", tt.name, r.Activation)
		}
	}
	doc := `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"ex":"http://example.org/"}],"@graph":[{"uid":"ex:x","@type":"Asset","partOf":"ex:box"},{"uid":"ex:alice","@type":"Party","partOf":["ex:club"]},
		{"uid":"ex:policy","type":"Set","permission":{"action":"read","target":"ex:box","assignee":"ex:club"}}]}`
	if e := evaluate(t, load(t, doc), aliceReads, noWorld, ""); !e.Permit {
		t.Errorf("partOf in the document: %s", outcome(e))
	}
	if e := evaluate(t, load(t, set(`"permission":{"action":"read","target":"ex:x","assignee":"ex:alice"}`)),
		`{"action":"read","target":"ex:x"}`, noWorld, ""); e.Permit {
		t.Error("a question without a party is permitted as alice")
	}
	if e := evaluate(t, load(t, set(`"permission":{"action":"read","target":"ex:x"}`)), `{"action":"read","target":"ex:x"}`, noWorld,
		""); !e.Permit {
		t.Error("a rule for everyone does not permit a question without a party")
	}
}

// ODRL IM 2.10, ODRL V 3.11: the three strategies, and no strategy.
func TestConformanceConflictStrategies(t *testing.T) {
	for strategy, want := range map[string]string{
		`"conflict":"perm",`: "permit", `"conflict":"prohibit",`: "POLICY_VIOLATION", `"conflict":"invalid",`: "POLICY_CONFLICT",
		``: "POLICY_CONFLICT", `"conflict":["perm","prohibit"],`: "POLICY_CONFLICT",
	} {
		doc := strings.Replace(set(`"permission":{"uid":"ex:p","action":"use","target":"ex:x"}`,
			`"prohibition":{"uid":"ex:f","action":"read","target":"ex:x"}`), `"permission"`, strategy+`"permission"`, 1)
		p, problems := odrl.Load(t.Context(), []byte(doc), odrl.LoadOptions{Lenient: true})
		if p == nil {
			if !strings.Contains(strategy, "[") {
				t.Error(problems)
			}
			continue
		}
		e := evaluate(t, p, aliceReads, noWorld, "")
		if outcome(e) != want {
			t.Errorf("%s: %s, want %s", strategy, outcome(e), want)
		}
		if rule := map[bool]string{true: "http://example.org/p", false: "http://example.org/f"}[e.Permit]; e.Rule != rule {
			t.Errorf("%s: decided by %s, want %s", strategy, e.Rule, rule)
		}
		if e := evaluate(t, p, strings.Replace(aliceReads, "read", "print", 1), noWorld, ""); !e.Permit {
			t.Errorf("%s: a conflict about another target affects this one", strategy)
		}
	}
	only := load(t, set(`"prohibition":{"uid":"ex:f","action":"read","target":"ex:x"}`))
	if e := evaluate(t, only, aliceReads, noWorld, ""); outcome(e) != "POLICY_VIOLATION" || e.Rule != "http://example.org/f" {
		t.Errorf("got %+v", e)
	}
	if e := evaluate(t, only, strings.Replace(aliceReads, "read", "print", 1), noWorld, ""); outcome(e) != "POLICY_NOT_APPLICABLE" {
		t.Errorf("an action without a permission: %+v", e)
	}
}

// ODRL IM 2.1: policy types that grant permissions.
func TestConformancePolicyTypes(t *testing.T) {
	for kind, grants := range map[string]bool{
		"Set": true, "Policy": true, "Agreement": true, "Privacy": true, "Ticket": true,
		"Offer": false, "Request": false, "Assertion": false,
	} {
		doc := strings.Replace(set(`"permission":{"uid":"ex:p","action":"read","target":"ex:x","assignee":"ex:alice","assigner":"ex:bob"}`),
			`"Set"`, `"`+kind+`"`, 1)
		e := evaluate(t, load(t, doc), aliceReads, noWorld, "")
		if e.Permit != grants {
			t.Errorf("%s: %s", kind, outcome(e))
		}
		if r := report(t, e, "p"); r.Activation != odrl.Active {
			t.Errorf("%s: the rule itself is %s, want %s", kind, r.Activation, odrl.Active)
		}
	}
}

// ODRL IM 2.4, 2.2.2, 2.3.2 refinement: refinements decide whether a rule applies, not whether it is active.
func TestConformanceRefinements(t *testing.T) {
	refined := `"refinement":{"uid":"ex:r","leftOperand":"resolution","operator":"lteq","rightOperand":{"@value":"1200","@type":"xsd:integer"},"unit":"http://dbpedia.org/resource/Dots_per_inch"}`
	for name, rule := range map[string]string{
		"action": `"target":"ex:x","action":[{"rdf:value":{"@id":"odrl:read"},` + refined + `}]`,
		"asset":  `"action":"read","target":{"@type":"AssetCollection","source":"ex:x",` + refined + `}`,
		"party":  `"action":"read","target":"ex:x","assignee":{"@type":"PartyCollection","source":"ex:alice",` + refined + `}`,
	} {
		p := load(t, set(`"permission":{"uid":"ex:p",`+rule+`}`))
		f := load(t, set(`"conflict":"prohibit"`, `"permission":{"action":"read","target":"ex:x"}`, `"prohibition":{"uid":"ex:p",`+rule+`}`))
		for fact, want := range map[string][2]string{
			`"resolution":300`:    {"permit", "POLICY_VIOLATION"},
			`"resolution":"1200"`: {"permit", "POLICY_VIOLATION"},
			`"resolution":1201`:   {"POLICY_NOT_APPLICABLE", "permit"},
			`"resolution":"big"`:  {"POLICY_NOT_APPLICABLE", "POLICY_VIOLATION"},
			`"media":"paper"`:     {"POLICY_NOT_APPLICABLE", "POLICY_VIOLATION"},
		} {
			q := strings.Replace(aliceReads, `"party"`, `"context":{`+fact+`},"party"`, 1)
			e := evaluate(t, p, q, noWorld, "")
			if outcome(e) != want[0] {
				t.Errorf("%s, %s: %s, want %s", name, fact, outcome(e), want[0])
			}
			if r := report(t, e, "p"); r.Activation != odrl.Active || (r.Constraints["http://example.org/r"] == odrl.Satisfied) != e.Permit {
				t.Errorf("%s, %s: %+v", name, fact, r)
			}
			if e := evaluate(t, f, q, noWorld, ""); outcome(e) != want[1] {
				t.Errorf("prohibition, %s, %s: %s, want %s", name, fact, outcome(e), want[1])
			}
		}
	}
}

// ODRL IM 2.6.5: a duty of a permission is fulfilled by acts before the action, by its party and on its target.
func TestConformanceDutiesOfAPermission(t *testing.T) {
	with := func(duty string) *odrl.Policy {
		return load(t, set(`"permission":{"uid":"ex:p","assignee":"ex:alice","action":"read","target":"ex:x","duty":{"uid":"ex:d",`+duty+`}}`))
	}
	done := func(performed string) string {
		return `{"currentTime":"2026-06-15T12:00:00Z","performed":[` + performed + `]}`
	}
	act := func(party, action, target, at string) string {
		return fmt.Sprintf(`{"party":"http://example.org/%s","action":"%s","target":"http://example.org/%s","time":"%s"}`, party, action,
			target, at)
	}
	for _, tt := range []struct {
		name, duty, world          string
		fulfilled, notViolated     string
		deontic                    odrl.State
		activation, dutyActivation odrl.State // of the permission when its duties must be fulfilled
	}{
		{"not done", `"action":"inform"`, done(""), "POLICY_NOT_APPLICABLE", "permit", odrl.NonSet, odrl.Inactive, odrl.Active},
		{
			"done", `"action":"inform"`, done(act("alice", "inform", "x", "2026-06-15T11:00:00Z")), "permit", "permit", odrl.Fulfilled,
			odrl.Active, odrl.Active,
		},
		{
			"done at an unknown time", `"action":"inform"`, done(`{"party":"http://example.org/alice","action":"inform"}`), "permit", "permit",
			odrl.Fulfilled, odrl.Active, odrl.Active,
		},
		{
			"done later", `"action":"inform"`, done(act("alice", "inform", "x", "2026-06-15T13:00:00Z")), "POLICY_NOT_APPLICABLE", "permit",
			odrl.NonSet, odrl.Inactive, odrl.Active,
		},
		{
			"by another", `"action":"inform"`, done(act("bob", "inform", "x", "2026-06-15T11:00:00Z")), "POLICY_NOT_APPLICABLE", "permit",
			odrl.NonSet, odrl.Inactive, odrl.Active,
		},
		{
			"another's duty", `"action":"inform","assignee":"ex:bob"`, done(act("bob", "inform", "x", "2026-06-15T11:00:00Z")), "permit",
			"permit", odrl.Fulfilled, odrl.Active, odrl.Active,
		},
		{
			"another's duty, by this one", `"action":"inform","informingParty":"ex:bob"`,
			done(act("alice", "inform", "x", "2026-06-15T11:00:00Z")), "POLICY_NOT_APPLICABLE", "permit", odrl.NonSet, odrl.Inactive, odrl.Active,
		},
		{
			"another action", `"action":"inform"`, done(act("alice", "attribute", "x", "2026-06-15T11:00:00Z")), "POLICY_NOT_APPLICABLE",
			"permit", odrl.NonSet, odrl.Inactive, odrl.Active,
		},
		{
			"something included", `"action":"inform"`, done(act("alice", "logUsage", "x", "2026-06-15T11:00:00Z")), "permit", "permit",
			odrl.Fulfilled, odrl.Active, odrl.Active,
		},
		{
			"upon another", `"action":"inform","target":"ex:y"`, done(act("alice", "inform", "x", "2026-06-15T11:00:00Z")),
			"POLICY_NOT_APPLICABLE", "permit", odrl.NonSet, odrl.Inactive, odrl.Active,
		},
		{
			"upon this", `"action":"inform","target":"ex:y"`, done(act("alice", "inform", "y", "2026-06-15T11:00:00Z")), "permit", "permit",
			odrl.Fulfilled, odrl.Active, odrl.Active,
		},
		{
			"one of two", `"action":["inform","attribute"]`, done(act("alice", "inform", "x", "2026-06-15T11:00:00Z")), "POLICY_NOT_APPLICABLE",
			"permit", odrl.NonSet, odrl.Inactive, odrl.Active,
		},
		{"both", `"action":["inform","attribute"]`, done(act("alice", "inform", "x", "2026-06-15T11:00:00Z") + "," +
			act("alice", "attribute", "x", "2026-06-15T11:00:00Z")), "permit", "permit", odrl.Fulfilled, odrl.Active, odrl.Active},
		{"payment", `"action":"compensate"`, done(""), "POLICY_REQUIRES_PAYMENT", "permit", odrl.NonSet, odrl.Inactive, odrl.Active},
		{
			"signing", `"action":"signPayload"`, done(""), "POLICY_REQUIRES_VERIFICATION", "POLICY_REQUIRES_VERIFICATION", odrl.NonSet,
			odrl.Inactive, odrl.Active,
		},
		{
			"signed", `"action":"signPayload"`, done(act("alice", "signPayload", "x", "2026-06-15T12:00:00Z")), "permit", "permit",
			odrl.Fulfilled, odrl.Active, odrl.Active,
		},
		{
			"under a condition that is not met", `"action":"inform","constraint":{"leftOperand":"purpose","operator":"eq","rightOperand":"ads"}`,
			done(""), "POLICY_NOT_APPLICABLE", "permit", odrl.NonSet, odrl.Inactive, odrl.Active,
		},
		{
			"in time", `"action":"inform","constraint":{"leftOperand":"dateTime","operator":"lt","rightOperand":"2026-07-01"}`,
			done(act("alice", "inform", "x", "2026-06-15T11:00:00Z")), "permit", "permit", odrl.Fulfilled, odrl.Active, odrl.Active,
		},
		{
			"still in time", `"action":"inform","constraint":{"leftOperand":"dateTime","operator":"lt","rightOperand":"2026-07-01"}`, done(""),
			"POLICY_NOT_APPLICABLE", "permit", odrl.NonSet, odrl.Inactive, odrl.Active,
		},
		{
			"too late", `"action":"inform","constraint":{"leftOperand":"dateTime","operator":"lt","rightOperand":"2026-06-01"}`, done(""),
			"POLICY_NOT_APPLICABLE", "POLICY_NOT_APPLICABLE", odrl.Violated, odrl.Inactive, odrl.Inactive,
		},
		{
			"done too late", `"action":"inform","constraint":{"leftOperand":"dateTime","operator":"lt","rightOperand":"2026-06-01"}`,
			done(act("alice", "inform", "x", "2026-06-15T11:00:00Z")), "POLICY_NOT_APPLICABLE", "POLICY_NOT_APPLICABLE", odrl.Violated,
			odrl.Inactive, odrl.Inactive,
		},
		{
			"done in time, long ago", `"action":"inform","constraint":{"leftOperand":"dateTime","operator":"lt","rightOperand":"2026-06-01"}`,
			done(act("alice", "inform", "x", "2026-05-15T11:00:00Z")), "permit", "permit", odrl.Fulfilled, odrl.Active, odrl.Inactive,
		},
		{
			"not due before", `"action":"inform","constraint":{"leftOperand":"dateTime","operator":"gt","rightOperand":"2026-07-01"}`, done(""),
			"permit", "permit", odrl.NonSet, odrl.Active, odrl.Inactive,
		},
		{"within, passed", `"action":"inform","constraint":{"leftOperand":"dateTime","operator":"within","rightOperand":"2026-05-01/2026-05-31"}`, done(""), "POLICY_NOT_APPLICABLE", "POLICY_NOT_APPLICABLE", odrl.Violated, odrl.Inactive, odrl.Inactive},
		{"within, to come", `"action":"inform","constraint":{"leftOperand":"dateTime","operator":"within","rightOperand":"2026-07-01/2026-07-31"}`, done(""), "permit", "permit", odrl.NonSet, odrl.Active, odrl.Inactive},
		{
			"before the use", `"action":"inform","constraint":{"leftOperand":"event","operator":"lt","rightOperand":{"@id":"odrl:policyUsage"}}`,
			done(act("alice", "inform", "x", "2026-06-15T11:59:59Z")), "permit", "permit", odrl.Fulfilled, odrl.Active, odrl.Active,
		},
		{"not before the use", `"action":"inform","constraint":{"leftOperand":"event","operator":"lt","rightOperand":{"@id":"odrl:policyUsage"}}`, done(act("alice", "inform", "x", "2026-06-15T12:00:00Z")), "POLICY_NOT_APPLICABLE", "permit", odrl.NonSet, odrl.Inactive, odrl.Active},
		{
			"refined, without facts of the act",
			`"action":[{"rdf:value":{"@id":"odrl:inform"},"refinement":{"leftOperand":"media","operator":"eq","rightOperand":"letter"}}]`,
			done(act("alice", "inform", "x", "2026-06-15T11:00:00Z")), "permit", "permit", odrl.Fulfilled, odrl.Active, odrl.Active,
		},
		{
			"refined, with empty facts of the act",
			`"action":[{"rdf:value":{"@id":"odrl:inform"},"refinement":{"leftOperand":"media","operator":"eq","rightOperand":"letter"}}]`,
			done(`{"party":"http://example.org/alice","action":"inform","time":"2026-06-15T11:00:00Z","context":{}}`), "POLICY_NOT_APPLICABLE",
			"permit", odrl.NonSet, odrl.Inactive, odrl.Active,
		},
		{"refined, otherwise", `"action":[{"rdf:value":{"@id":"odrl:inform"},"refinement":{"leftOperand":"media","operator":"eq","rightOperand":"letter"}}]`, done(`{"party":"http://example.org/alice","action":"inform","time":"2026-06-15T11:00:00Z","context":{"media":"call"}}`), "POLICY_NOT_APPLICABLE", "permit", odrl.NonSet, odrl.Inactive, odrl.Active},
		{"refined, so", `"action":[{"rdf:value":{"@id":"odrl:inform"},"refinement":{"leftOperand":"media","operator":"eq","rightOperand":"letter"}}]`, done(`{"party":"http://example.org/alice","action":"inform","time":"2026-06-15T11:00:00Z","context":{"media":"letter"}}`), "permit", "permit", odrl.Fulfilled, odrl.Active, odrl.Active},
		{
			"reported fulfilled", `"action":"inform"`,
			`{"dutyReports":[{"rule":"http://example.org/d","performanceState":"Performed","deonticState":"Fulfilled"}]}`, "permit", "permit",
			odrl.Fulfilled, odrl.Active, odrl.Active,
		},
		{
			"reported performed", `"action":"inform"`, `{"dutyReports":[{"rule":"ex:d","performanceState":"Performed"}]}`, "permit", "permit",
			odrl.Fulfilled, odrl.Active, odrl.Active,
		},
		{
			"reported open", `"action":"inform"`,
			`{"dutyReports":[{"rule":"http://example.org/d","performanceState":"Unknown","deonticState":"NonSet"}]}`, "POLICY_NOT_APPLICABLE",
			"permit", odrl.NonSet, odrl.Inactive, odrl.Active,
		},
		{
			"reported violated", `"action":"inform"`,
			`{"dutyReports":[{"rule":"http://example.org/d","performanceState":"Unperformed","deonticState":"Violated"}]}`,
			"POLICY_NOT_APPLICABLE", "POLICY_NOT_APPLICABLE", odrl.Violated, odrl.Inactive, odrl.Active,
		},
		{
			"reported open although done", `"action":"inform"`,
			`{"dutyReports":[{"rule":"http://example.org/d","deonticState":"NonSet"}],"performed":[{"party":"http://example.org/alice","action":"inform"}]}`, "POLICY_NOT_APPLICABLE", "permit", odrl.NonSet, odrl.Inactive, odrl.Active,
		},
	} {
		p := with(tt.duty)
		e := evaluate(t, p, aliceReads, tt.world, "")
		if outcome(e) != tt.fulfilled {
			t.Errorf("%s: %s, want %s", tt.name, outcome(e), tt.fulfilled)
		}
		if r, d := report(t, e, "p"), report(t, e, "d"); r.Activation != tt.activation || d.Deontic != tt.deontic ||
			d.Activation != tt.dutyActivation || r.Deontic != "" {
			t.Errorf("%s: permission %s, duty %s %s", tt.name, r.Activation, d.Activation, d.Deontic)
		}
		if e := evaluate(t, p, aliceReads, tt.world, odrl.DutiesNotViolated); outcome(e) != tt.notViolated {
			t.Errorf("%s, not violated: %s, want %s", tt.name, outcome(e), tt.notViolated)
		}
	}
	known := strings.Replace(aliceReads, `"party"`, `"context":{"purpose":"study"},"party"`, 1)
	if e := evaluate(t, with(`"action":"inform","constraint":{"leftOperand":"purpose","operator":"eq","rightOperand":"ads"}`), known,
		noWorld, ""); !e.Permit {
		t.Errorf("a duty whose constraint is false: %s", outcome(e))
	}
}

// ODRL IM 2.6.5: permissions that share a duty by its uid also share its fulfillment.
func TestConformanceSharedDuty(t *testing.T) {
	doc := `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"ex":"http://example.org/"}],"@graph":[{"uid":"ex:d","@type":"Duty","action":"inform"},
		{"uid":"ex:policy","type":"Set","permission":[{"uid":"ex:p1","assignee":"ex:alice","action":"read","target":"ex:x","duty":"ex:d"},{"uid":"ex:p2","assignee":"ex:alice","action":"print","target":"ex:x","duty":"ex:d"}]}]}`
	p := load(t, doc)
	world := `{"performed":[{"party":"http://example.org/alice","action":"inform"}]}`
	for _, action := range []string{"read", "print"} {
		q := strings.Replace(aliceReads, "read", action, 1)
		if e := evaluate(t, p, q, world, ""); !e.Permit || len(e.Rules) != 3 {
			t.Errorf("%s: %+v", action, e)
		}
		if e := evaluate(t, p, q, noWorld, ""); e.Permit {
			t.Errorf("%s without it: %+v", action, e)
		}
	}
}

// ODRL IM 2.6.3: an obligation that is not met denies every action of its party.
func TestConformanceObligations(t *testing.T) {
	for _, tt := range []struct{ name, obligation, world, want string }{
		{"open", `"action":"inform"`, noWorld, "POLICY_REQUIRES_VERIFICATION"},
		{"to pay", `"action":"compensate"`, noWorld, "POLICY_REQUIRES_PAYMENT"},
		{"done", `"action":"inform"`, `{"performed":[{"party":"http://example.org/alice","action":"inform"}]}`, "permit"},
		{"another's", `"action":"inform","assignee":"ex:bob"`, noWorld, "permit"},
		{"this one's", `"action":"inform","assignee":"ex:alice"`, noWorld, "POLICY_REQUIRES_VERIFICATION"},
		{"upon anything", `"action":"inform","target":"ex:report"`, noWorld, "POLICY_REQUIRES_VERIFICATION"},
		{
			"unknown condition", `"action":"inform","constraint":{"leftOperand":"industry","operator":"eq","rightOperand":"bank"}`, noWorld,
			"POLICY_REQUIRES_VERIFICATION",
		},
		{"not yet", `"action":"inform","constraint":{"leftOperand":"dateTime","operator":"gt","rightOperand":"2026-07-01"}`, atNoon, "permit"},
		{
			"late", `"action":"inform","constraint":{"leftOperand":"dateTime","operator":"lteq","rightOperand":"2026-06-01"}`, atNoon,
			"POLICY_REQUIRES_VERIFICATION",
		},
	} {
		p := load(t, set(`"permission":{"action":"read","target":"ex:x"}`, `"obligation":{"uid":"ex:o",`+tt.obligation+`}`))
		e := evaluate(t, p, aliceReads, tt.world, "")
		if outcome(e) != tt.want || !e.Permit && e.Rule != "http://example.org/o" {
			t.Errorf("%s: %s by %s, want %s", tt.name, outcome(e), e.Rule, tt.want)
		}
	}
}

// ODRL IM 2.6.7: a consequence is due when its duty is late. Performing both cures the duty.
func TestConformanceConsequences(t *testing.T) {
	p := load(t, set(`"permission":{"action":"read","target":"ex:x"}`, `"obligation":{"uid":"ex:o","assignee":"ex:alice","action":"delete","target":"ex:y",
		"constraint":{"leftOperand":"dateTime","operator":"lt","rightOperand":"2026-06-01T00:00:00Z"},"consequence":{"uid":"ex:k","action":"compensate","target":"ex:fine"}}`))
	deleted := `{"party":"http://example.org/alice","action":"delete","target":"http://example.org/y","time":"%s"}`
	paid := `{"party":"http://example.org/alice","action":"compensate","target":"http://example.org/fine","time":"2026-06-10T00:00:00Z"}`
	early, late := fmt.Sprintf(deleted, "2026-05-20T00:00:00Z"), fmt.Sprintf(deleted, "2026-06-10T00:00:00Z")
	for _, tt := range []struct {
		now, done            string
		want                 string
		duty                 odrl.State
		consequence, deontic odrl.State
	}{
		{"2026-05-25", "", "POLICY_REQUIRES_VERIFICATION", odrl.NonSet, odrl.Inactive, odrl.NonSet},
		{"2026-06-15", "", "POLICY_REQUIRES_VERIFICATION", odrl.Violated, odrl.Active, odrl.NonSet},
		{"2026-06-15", early, "permit", odrl.Fulfilled, odrl.Inactive, odrl.NonSet},
		{"2026-06-15", late, "POLICY_REQUIRES_VERIFICATION", odrl.Violated, odrl.Active, odrl.NonSet},
		{"2026-06-15", paid, "POLICY_REQUIRES_VERIFICATION", odrl.Violated, odrl.Active, odrl.Fulfilled},
		{"2026-06-15", late + "," + paid, "permit", odrl.Fulfilled, odrl.Active, odrl.Fulfilled},
	} {
		e := evaluate(t, p, aliceReads, `{"currentTime":"`+tt.now+`T12:00:00Z","performed":[`+tt.done+`]}`, "")
		o, k := report(t, e, "o"), report(t, e, "k")
		if outcome(e) != tt.want || o.Deontic != tt.duty || k.Activation != tt.consequence || k.Deontic != tt.deontic {
			t.Errorf("%s, done %q: %s; duty %s; consequence %s %s", tt.now, tt.done, outcome(e), o.Deontic, k.Activation, k.Deontic)
		}
	}
}

// ODRL IM 2.6.6: a performed act infringes a prohibition, and its remedies are then due.
func TestConformanceRemedies(t *testing.T) {
	p := load(t, set(`"permission":{"action":"print","target":"ex:x"}`, `"prohibition":{"uid":"ex:f","assignee":"ex:alice","action":"read","target":"ex:x",
		"constraint":{"leftOperand":"dateTime","operator":"lt","rightOperand":"2026-07-01"},"remedy":{"uid":"ex:r","action":"anonymize","target":"ex:x"}}`))
	act := func(party, action, at string) string {
		return `{"party":"http://example.org/` + party + `","action":"` + action + `","target":"http://example.org/x","time":"` +
			at + `T00:00:00Z"}`
	}
	for _, tt := range []struct {
		done       string
		deontic    odrl.State
		activation odrl.State
	}{
		{"", odrl.NonSet, odrl.Inactive},
		{act("alice", "read", "2026-06-01"), odrl.Violated, odrl.Active},
		{act("bob", "read", "2026-06-01"), odrl.NonSet, odrl.Inactive},
		{act("alice", "print", "2026-06-01"), odrl.NonSet, odrl.Inactive},
		{act("alice", "read", "2026-07-10"), odrl.NonSet, odrl.Inactive},
		{act("alice", "read", "2026-06-01") + "," + act("alice", "anonymize", "2026-06-02"), odrl.NonSet, odrl.Active},
		{act("alice", "read", "2026-06-03") + "," + act("alice", "anonymize", "2026-06-02"), odrl.Violated, odrl.Active},
	} {
		e := evaluate(t, p, strings.Replace(aliceReads, "read", "print", 1),
			`{"currentTime":"2026-08-01T00:00:00Z","performed":[`+tt.done+`]}`, "")
		if f, r := report(t, e, "f"), report(t, e, "r"); f.Deontic != tt.deontic || r.Activation != tt.activation {
			t.Errorf("%s: prohibition %s, remedy %s", tt.done, f.Deontic, r.Activation)
		}
		if due := len(e.Duties) > 0; due != (tt.deontic == odrl.Violated) {
			t.Errorf("%s: owed %v", tt.done, e.Duties)
		}
	}
}

// Limits are reported but not compared, unless the question has the count.
func TestConformanceLimits(t *testing.T) {
	for _, tt := range []struct{ constraint, context, want, limits string }{
		{`{"leftOperand":"count","operator":"lteq","rightOperand":10}`, ``, "permit", "10/lifetime"},
		{`{"leftOperand":"count","operator":"lteq","rightOperand":10,"status":4}`, ``, "permit", "6/lifetime"},
		{`{"leftOperand":"count","operator":"lt","rightOperand":"10","unit":"odrl:hour"}`, ``, "permit", "9/hour"},
		{`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":"10/day"}`, ``, "permit", "10/day"},
		{`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":10,"unit":"PT1H"}`, `"rateLimit":11`, "RATE_LIMIT_EXCEEDED", ""},
		{`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":10,"unit":"hour"}`, `"rateLimit":"10.0"`, "permit", ""},
		{`{"leftOperand":"count","operator":"lteq","rightOperand":10}`, `"count":10`, "permit", ""},
		{`{"leftOperand":"count","operator":"lteq","rightOperand":10}`, `"count":11`, "QUOTA_EXCEEDED", ""},
		{`{"leftOperand":"count","operator":"lteq","rightOperand":10}`, `"odrl:count":"11"`, "QUOTA_EXCEEDED", ""},
		{`{"leftOperand":"count","operator":"lteq","rightOperand":10}`, `"count":"many"`, "QUOTA_EXCEEDED", ""},
	} {
		for name, doc := range map[string]string{
			"constraint": set(`"permission":{"action":"read","target":"ex:x","constraint":` + tt.constraint + `}`),
			"refinement": set(`"permission":{"action":{"@id":"odrl:read","refinement":` + tt.constraint + `},"target":"ex:x"}`),
		} {
			e := evaluate(t, load(t, doc), strings.Replace(aliceReads, `"party"`, `"context":{`+tt.context+`},"party"`, 1), noWorld, "")
			var limits []string
			for _, l := range e.Limits {
				limits = append(limits, l.String())
			}
			if outcome(e) != tt.want && name == "constraint" || e.Permit != (tt.want == "permit") || strings.Join(limits, " ") != tt.limits {
				t.Errorf("%s %s of %s: %s, %v", name, tt.constraint, tt.context, outcome(e), limits)
			}
		}
	}
	bound := set(`"permission":{"action":"use","target":"ex:x"}`, `"conflict":"prohibit"`,
		`"prohibition":{"action":[{"rdf:value":{"@id":"odrl:read"},"refinement":{"leftOperand":"count","operator":"gt","rightOperand":3,"unit":"day"}}],"target":"ex:x"}`)
	for context, want := range map[string]string{``: "permit 3/day", `"count":3`: "permit ", `"count":4`: "POLICY_VIOLATION "} {
		e := evaluate(t, load(t, bound), strings.Replace(aliceReads, `"party"`, `"context":{`+context+`},"party"`, 1), noWorld, "")
		got := outcome(e) + " "
		for _, l := range e.Limits {
			got += l.String()
		}
		if got != want {
			t.Errorf("prohibition, %s: %s, want %s", context, got, want)
		}
	}
}

// Of several permissions, the cheapest is first, then the least limited, then the first in the document.
func TestConformanceCandidates(t *testing.T) {
	perm := func(uid, rest string) string {
		return `{"uid":"ex:` + uid + `","action":"read","target":"ex:x"` + rest + `}`
	}
	pay := func(amount, unit string) string {
		return `,"duty":{"action":"pay","amount":` + amount + `,"unit":"` + unit + `"}`
	}
	const limited = `,"constraint":{"leftOperand":"count","operator":"lteq","rightOperand":1,"unit":"day"}`
	for _, tt := range []struct{ rules, want string }{
		{perm("a", "") + "," + perm("b", ""), "a b"},
		{perm("a", limited) + "," + perm("b", ""), "b a"},
		{perm("a", pay("2", "EUR")) + "," + perm("b", pay("1.5", "EUR")) + "," + perm("c", limited), "c b a"},
		{perm("a", pay("2", "EUR")) + "," + perm("b", pay("1", "USD")), "a b"},
		{perm("a", pay("2", "EUR")) + "," + perm("b", pay("1", "USD")) + "," + perm("c", ""), "c a b"},
		{perm("a", pay("12345678901234567890.5", "EUR")) + "," + perm("b", pay("12345678901234567890.4", "EUR")), "b a"},
	} {
		e := evaluate(t, load(t, set(`"permission":[`+tt.rules+`]`)), aliceReads, noWorld, odrl.DutiesNotViolated)
		got := strings.ReplaceAll(strings.Join(e.Candidates, " "), "http://example.org/", "")
		if got != tt.want || !e.Permit || e.Rule != e.Candidates[0] {
			t.Errorf("%s: %s", tt.rules, got)
		}
	}
	e := evaluate(t, load(t,
		set(`"permission":`+perm("a",
			`,"duty":[{"uid":"ex:d1","action":"pay","amount":2,"unit":"EUR"},{"uid":"ex:d2","action":"pay","amount":"1","unit":"USD"}]`))), aliceReads, noWorld, odrl.DutiesNotViolated)
	if len(e.Charges) != 2 || e.Charges[0] != (odrl.Charge{Amount: "2.00", Currency: "EUR", Rule: "http://example.org/d1"}) ||
		e.Charges[1].Currency != "USD" {
		t.Errorf("several currencies: %+v", e.Charges)
	}
}
