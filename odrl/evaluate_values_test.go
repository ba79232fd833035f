package odrl_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/odrl"
)

// weigh evaluates a constraint under both polarities: true opens a permission, false lifts a prohibition.
func weigh(t *testing.T, constraint, context, world string) truth {
	t.Helper()
	q := strings.Replace(aliceReads, `"party"`, `"context":{`+context+`},"party"`, 1)
	opens := evaluate(t, load(t, set(`"permission":{"uid":"ex:p","action":"read","target":"ex:x","constraint":`+constraint+`}`)), q, world, "")
	forbids := evaluate(t, load(t, set(`"conflict":"prohibit"`, `"permission":{"action":"read","target":"ex:x"}`,
		`"prohibition":{"uid":"ex:f","action":"read","target":"ex:x","constraint":`+constraint+`}`)), q, world, "")
	for rule, e := range map[string]odrl.Evaluation{"p": opens, "f": forbids} {
		r := report(t, e, rule)
		for _, state := range r.Constraints {
			if (state == odrl.Satisfied) != (r.Activation == odrl.Active) && len(r.Constraints) == 1 {
				t.Errorf("%s of %s: the constraint is %s, the rule %s", constraint, context, state, r.Activation)
			}
		}
	}
	switch {
	case opens.Permit && !forbids.Permit:
		return yes
	case !opens.Permit && forbids.Permit:
		return no
	case !opens.Permit:
		return unknown
	default:
		t.Fatalf("%s of %s opens a permission and lifts a prohibition", constraint, context)
		return ""
	}
}

func constraint(left, op, right, unit string) string {
	if !strings.HasPrefix(right, "[") && !strings.HasPrefix(right, "{") && !strings.HasPrefix(right, `"`) {
		if !json.Valid([]byte(right)) {
			right = `"` + right + `"`
		}
	}
	c := fmt.Sprintf(`{"leftOperand":"%s","operator":"%s","rightOperand":%s`, left, op, right)
	if unit != "" {
		c += `,"unit":"` + unit + `"`
	}
	return c + `}`
}

// value returns a fact as JSON. A text that is not JSON becomes a string.
func value(s string) string {
	if json.Valid([]byte(s)) {
		return s
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

type comparison struct {
	left, op, right, unit, fact string
	want                        truth
}

func compareAll(t *testing.T, list []comparison) {
	t.Helper()
	for _, tt := range list {
		t.Run(strings.Join(strings.Fields(fmt.Sprint(tt.left, " ", tt.op, " ", tt.right, " ", tt.unit, " of ", tt.fact, " is ", tt.want)),
			" "), func(t *testing.T) {
			if got := weigh(t, constraint(tt.left, tt.op, tt.right, tt.unit), `"`+tt.left+`":`+value(tt.fact), noWorld); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// ODRL V 4.5 numbers: exact decimals of any size and notation.
func TestConformanceNumbers(t *testing.T) {
	compareAll(t, []comparison{
		{"percentage", "lteq", "50", "", "50", yes},
		{"percentage", "lteq", `"50"`, "", "50.0", yes},
		{"percentage", "lteq", `{"@value":"50.00","@type":"xsd:decimal"}`, "", `"50"`, yes},
		{"percentage", "eq", "5e1", "", `"+50."`, yes},
		{"percentage", "eq", "0.1", "", "0.10000000000000000000000000000000000000001", no},
		{"percentage", "gt", "0.1", "", "0.10000000000000000000000000000000000000001", yes},
		{"percentage", "lt", "0.1", "", `"0.09999999999999999999999999999999999999999"`, yes},
		{"absoluteSize", "lt", `"123456789012345678901234567890"`, "", `"123456789012345678901234567891"`, no},
		{"absoluteSize", "gt", `"123456789012345678901234567890"`, "", `"123456789012345678901234567891"`, yes},
		{"absoluteSize", "gt", "-5", "", "-4.99", yes},
		{"absoluteSize", "lt", "-0.5", "", "-0.55", yes},
		{"absoluteSize", "lt", "-0.55", "", "-0.5", no},
		{"absoluteSize", "lt", "-100", "", "-99", no},
		{"absoluteSize", "lt", "0", "", "-0.001", yes},
		{"absoluteSize", "gt", "0", "", "0.001", yes},
		{"absoluteSize", "eq", "0", "", `"-0.0"`, yes},
		{"absoluteSize", "gt", "9", "", "10", yes},
		{"absoluteSize", "gt", `"9"`, "", `"10"`, yes},
		{"absoluteSize", "neq", "9", "", "10", yes},
		{"absoluteSize", "isAnyOf", `[1,"2",3.0]`, "", "3", yes},
		{"absoluteSize", "isNoneOf", `[1,"2",3.0]`, "", "3", no},
		{"absoluteSize", "lt", "9", "", `"NaN"`, unknown},
		{"absoluteSize", "neq", "9", "", `"NaN"`, unknown},
		{"absoluteSize", "lt", "9", "", `"-INF"`, unknown},
		{"absoluteSize", "lt", `"INF"`, "", "5", unknown},
		{"absoluteSize", "neq", `"NaN"`, "", "5", unknown},
		{"absoluteSize", "lt", "9", "", "null", unknown},
		{"absoluteSize", "gt", "9", "", `"abc"`, unknown},
		{"absoluteSize", "gt", "9", "", "true", unknown},
		{"absoluteSize", "gt", "9", "", "{}", unknown},
		{"absoluteSize", "gt", "9", "", "[]", unknown},
		{"absoluteSize", "gt", "9", "", "[10,11]", unknown},
		{"absoluteSize", "gt", "9", "", `"0x10"`, unknown},
		{"absoluteSize", "gt", "9", "", `"1_000"`, unknown},
		{"absoluteSize", "gt", "9", "", `"1/2"`, unknown},
		{"absoluteSize", "gt", "9", "", `"1e999999999"`, unknown},
		// Units of the same dimension are converted; others are not.
		{"absoluteSize", "lteq", "1", "MB", `{"value":1000,"unit":"KB"}`, yes},
		{"absoluteSize", "lteq", "1", "http://qudt.org/vocab/unit/MegaByte", `{"value":1001,"unit":"http://dbpedia.org/resource/Kilobyte"}`, no},
		{"absoluteSize", "lteq", "1", "MB", "1", yes},
		{"absoluteSize", "lteq", "1", "MB", `{"value":1,"unit":"inch"}`, unknown},
		{"absoluteSize", "eq", "2.54", "cm", `{"@value":"1","unit":"inch"}`, yes},
	})
}

// ODRL V 4.5 elapsedTime and similar operands: xsd:duration has only a partial order.
func TestConformanceDurations(t *testing.T) {
	compareAll(t, []comparison{
		{"elapsedTime", "lteq", "P30D", "", "P29DT23H59M59.999S", yes},
		{"elapsedTime", "lteq", "P30D", "", "PT720H", yes},
		{"elapsedTime", "lt", "P30D", "", "PT720H", no},
		{"elapsedTime", "eq", "P1D", "", "PT86400S", yes},
		{"elapsedTime", "neq", "P1D", "", "PT86400S", no},
		{"elapsedTime", "eq", "P1W", "", "P7D", yes},
		{"elapsedTime", "eq", "P1Y", "", "P12M", yes},
		{"elapsedTime", "lt", "P1M", "", "P27D", yes},
		{"elapsedTime", "lt", "P1M", "", "P30D", unknown},
		{"elapsedTime", "gt", "P1M", "", "P30D", unknown},
		{"elapsedTime", "gt", "P1M", "", "P32D", yes},
		{"elapsedTime", "lteq", "P1M", "", "P1M", yes},
		{"elapsedTime", "gt", "PT0S", "", "-P1D", no},
		{"elapsedTime", "lteq", "30", "day", "P30D", yes},
		{"elapsedTime", "lteq", "30", "odrl:day", "31", no},
		{"elapsedTime", "lteq", "30", "", "20", unknown},
		{"elapsedTime", "lteq", "P30D", "", "20", unknown},
		{"elapsedTime", "lteq", "P30D", "", "P", unknown},
		{"elapsedTime", "lteq", "P30D", "", "P1DT", unknown},
		{"elapsedTime", "lteq", "P30D", "", "soon", unknown},
		{"elapsedTime", "lteq", "P99999999Y", "", "P1D", unknown},
		{"delayPeriod", "gteq", "PT1H", "", "PT60M", yes},
		{"delayPeriod", "gteq", "PT1H", "", "PT59M", no},
		{"timeInterval", "eq", "P7D", "", "P1W", yes},
		{"meteredTime", "lteq", "PT10H", "", "PT9H59M", yes},
	})
}

func TestConformanceDatesOfTheWorld(t *testing.T) {
	for _, tt := range []struct {
		op, right, now string
		want           truth
	}{
		{"lt", "2027-01-01T00:00:00Z", "2026-12-31T23:59:59.999Z", yes},
		{"lt", "2027-01-01T00:00:00.000Z", "2027-01-01T00:00:00Z", no},
		{"eq", "2027-01-01T01:00:00+01:00", "2027-01-01T00:00:00Z", yes},
		{"eq", "2026-12-31T24:00:00Z", "2027-01-01T00:00:00Z", yes},
		{"lt", "10000-01-01T00:00:00Z", "2026-06-15T12:00:00Z", yes},
		{"gt", "10000-01-01T00:00:00Z", "2026-06-15T12:00:00Z", no},
		{"lt", "10000-01-01", "2026-06-15T12:00:00Z", yes},
		{"gt", "-0044-03-15T00:00:00Z", "2026-06-15T12:00:00Z", yes},
		{"lt", "9999-12-31T23:59:59Z", "2026-06-15T12:00:00Z", yes},
		{"lteq", "2016-12-31T23:59:60Z", "2016-12-31T23:59:59Z", unknown},
		{"lt", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00Z", unknown},
		{"lt", "2026-06-15T12:00:00+19:00", "2026-01-01T00:00:00Z", unknown},
		{"lt", "tomorrow", "2026-01-01T00:00:00Z", unknown},
		{"gt", "2026-01-01T00:00:00,5Z", "2026-06-01T00:00:00Z", unknown},
		{"lteq", "2026-06-15", "2026-06-15T23:59:59Z", yes},
		{"isAnyOf", `["2026-06-15T12:00:00Z","2026-06-16T12:00:00Z"]`, "2026-06-15T12:00:00Z", yes},
		{"eq", `{"@id":"odrl:policyUsage"}`, "2026-06-15T12:00:00Z", yes},
		{"lt", `{"@id":"odrl:policyUsage"}`, "2026-06-15T12:00:00Z", no},
	} {
		if got := weigh(t, constraint("dateTime", tt.op, tt.right, ""), "", `{"currentTime":"`+tt.now+`"}`); got != tt.want {
			t.Errorf("%s %s at %s: %s, want %s", tt.op, tt.right, tt.now, got, tt.want)
		}
		if got := weigh(t, constraint("dateTime", tt.op, tt.right, ""), `"dateTime":{"@value":"`+tt.now+`","@type":"xsd:dateTime"}`,
			noWorld); got != tt.want {
			t.Errorf("%s %s, the question has the time %s: %s, want %s", tt.op, tt.right, tt.now, got, tt.want)
		}
	}
	if got := weigh(t, constraint("dateTime", "lt", "2026-07-01", ""), "", noWorld); got != unknown {
		t.Errorf("without a clock: %s, want %s", got, unknown)
	}
	if got := weigh(t, constraint("dateTime", "lt", "2026-07-01", ""), `"dateTime":"2020-01-01T00:00:00Z"`,
		`{"currentTime":"2026-08-01T00:00:00Z"}`); got != no {
		t.Errorf("the time of the question overrides the world's: %s, want %s", got, no)
	}
	for fact, want := range map[string]truth{`"2026-06-15"`: yes, `"2026-06-16"`: no, `"10000-01-01"`: unknown} {
		if got := weigh(t, constraint("http://example.org/birthday", "lteq", `{"@value":"2026-06-15","@type":"xsd:date"}`, ""),
			`"ex:birthday":`+fact, noWorld); got != want {
			t.Errorf("a date in the facts, %s: %s, want %s", fact, got, want)
		}
	}
	if _, err := odrl.ParseWorldState([]byte(`{"currentTime":"10000-01-01T00:00:00Z"}`)); err == nil {
		t.Error("a time after the year 9999 is accepted")
	}
}

func TestConformanceVersions(t *testing.T) {
	compareAll(t, []comparison{
		{"version", "eq", "v1", "", "1.0.0", yes},
		{"version", "lt", "1.10", "", "1.9", yes},
		{"version", "lt", "1.0.0", "", "1.0.0-rc.1", yes},
		{"version", "lt", "1.0.0-rc.2", "", "1.0.0-rc.11", no},
		{"version", "lt", "1.0.0-beta", "", "1.0.0-alpha.1", yes},
		{"version", "lt", "1.0.0-alpha.1", "", "1.0.0-alpha", yes},
		{"version", "gt", "1.0.0-1", "", "1.0.0-a", yes},
		{"version", "eq", "1.0.0+build.5", "", "1.0.0", yes},
		{"version", "isAnyOf", `["1.0","2.0"]`, "", "2", yes},
		{"version", "gteq", "2", "", "abc", unknown},
		{"version", "gteq", "new", "", "2", unknown},
	})
}

func TestConformancePlaces(t *testing.T) {
	compareAll(t, []comparison{
		{"virtualLocation", "isPartOf", "10.0.0.0/8", "", "10.1.2.3", yes},
		{"virtualLocation", "isPartOf", "10.0.0.0/8", "", "11.1.2.3", no},
		{"virtualLocation", "isPartOf", "10.0.0.0/8", "", "10.1.0.0/16", yes},
		{"virtualLocation", "isPartOf", "10.1.0.0/16", "", "10.0.0.0/8", no},
		{"virtualLocation", "isPartOf", "10.0.0.0/8", "", "::ffff:10.1.2.3", yes},
		{"virtualLocation", "isPartOf", "2001:db8::/32", "", "2001:db8::1", yes},
		{"virtualLocation", "isPartOf", "2001:db8::/32", "", "2001:db9::1", no},
		{"virtualLocation", "isPartOf", "0.0.0.0/0", "", "2001:db9::1", no},
		{"virtualLocation", "isPartOf", "example.com", "", "api.example.com", yes},
		{"virtualLocation", "isPartOf", "example.com", "", "Example.COM.", yes},
		{"virtualLocation", "isPartOf", "example.com", "", "example.com.evil.org", no},
		{"virtualLocation", "isPartOf", "example.com", "", "evilexample.com", no},
		{"virtualLocation", "isPartOf", "ample.com", "", "ex-ample.com", no},
		{"virtualLocation", "eq", "10.0.0.1", "", "10.0.0.1", yes},
		{"virtualLocation", "isAnyOf", `["10.0.0.1","10.0.0.2"]`, "", "10.0.0.3", no},
		{"virtualLocation", "isPartOf", "10.0.0.0/8", "", "fe80::1%eth0", unknown},
		{"virtualLocation", "isPartOf", "10.0.0.0/8", "", "300.1.2.3", unknown},
		{"virtualLocation", "eq", "http://example.org/net", "", "http://example.org/net2", no},
		{"spatial", "isPartOf", "DE", "", "DE-BY", yes},
		{"spatial", "isPartOf", "https://www.wikidata.org/wiki/Q183", "", "DE-BY", yes},
		{"spatial", "eq", "https://www.wikidata.org/wiki/Q183", "", "http://www.wikidata.org/entity/Q183", yes},
		{"spatial", "eq", `{"@id":"http://example.org/here"}`, "", "ex:here", yes},
		{"spatial", "eq", `{"@id":"http://example.org/here"}`, "", "http://example.org/here2", no},
		{"language", "isPartOf", "en", "", "en-GB", yes},
	})
}

// IRIs and texts: the compact and the expanded form are equal; a prefix of a value is not equal to it.
func TestConformanceTexts(t *testing.T) {
	compareAll(t, []comparison{
		{"purpose", "eq", "ex:research", "", "http://example.org/research", yes},
		{"purpose", "eq", "http://example.org/research", "", "ex:research", yes},
		{"purpose", "eq", "http://example.org/research", "", "http://example.org/research-ads", no},
		{"purpose", "eq", "http://example.org/research", "", "research", unknown},
		{"purpose", "eq", "research", "", `{"@value":"research","@type":"xsd:string"}`, yes},
		{"purpose", "eq", "http://example.org/a", "", `{"@id":"ex:a"}`, yes},
		{"purpose", "isAnyOf", `["ex:a","ex:b"]`, "", "ex:b", yes},
		{"purpose", "isNoneOf", `["ex:a","ex:b"]`, "", "ex:b", no},
		{"purpose", "isNoneOf", `["ex:a","ex:b"]`, "", "ex:c", yes},
		{"purpose", "isAllOf", `["ex:a","ex:b"]`, "", `["ex:b","ex:a","ex:c"]`, yes},
		{"purpose", "isAllOf", `["ex:a","ex:b"]`, "", `["ex:b"]`, no},
		{"purpose", "lt", "ex:a", "", "ex:b", unknown},
		{"recipient", "eq", "ex:bob", "", "http://example.org/bob", yes},
		{"http://example.org/mood", "eq", "good", "", "good", yes},
		{"http://example.org/mood", "neq", "good", "", "bad", yes},
		{"http://example.org/level", "gt", "9", "", "10", yes},
		{"http://example.org/level", "gt", `{"@value":"9","@type":"xsd:integer"}`, "", `"10"`, yes},
		{"event", "eq", "ex:fair", "", "ex:fair", yes},
		{"event", "eq", "ex:fair", "", "ex:war", unknown},
		{"event", "lt", "ex:fair", "", `{"ex:fair":"before"}`, yes},
		{"event", "gt", "ex:fair", "", `{"http://example.org/fair":"before"}`, no},
		{"event", "gt", "ex:fair", "", `[{"ex:war":"before"},{"ex:fair":"after"}]`, yes},
		{"event", "gt", "ex:fair", "", `{"ex:fair":"never"}`, unknown},
	})
	world := `{"partOf":[{"member":"http://example.org/cancer-research","collection":"http://example.org/research"},{"member":"http://example.org/research","collection":"http://example.org/science"}]}`
	for _, tt := range []struct {
		op, right, fact string
		want            truth
	}{
		{"isA", "ex:science", "ex:cancer-research", yes},
		{"isPartOf", "ex:research", "ex:cancer-research", yes},
		{"isPartOf", "ex:cancer-research", "ex:research", no}, // the world gives another class
		{"isPartOf", "ex:cancer-research", "ex:marketing", unknown},
		{"hasPart", "ex:cancer-research", "ex:science", yes},
		{"hasPart", "ex:science", "ex:cancer-research", unknown},
		{"eq", "ex:research", "ex:cancer-research", no},
	} {
		if got := weigh(t, constraint("purpose", tt.op, tt.right, ""), `"purpose":"`+tt.fact+`"`, world); got != tt.want {
			t.Errorf("%s %s of %s: %s, want %s", tt.op, tt.right, tt.fact, got, tt.want)
		}
	}
}

func TestConformanceAmounts(t *testing.T) {
	compareAll(t, []comparison{
		{"payAmount", "lteq", "5.00", "EUR", "5", yes},
		{"payAmount", "lteq", "5.00", "http://dbpedia.org/resource/Euro", "5.00 EUR", yes},
		{"payAmount", "lteq", "5.00", "EUR", "5.00 USD", unknown},
		{"payAmount", "lteq", "5.00", "EUR", `{"value":"4.999999999999","currency":"EUR"}`, yes},
		{"payAmount", "eq", "5.00", "EUR", `{"@value":"5","unit":"http://dbpedia.org/resource/Euro"}`, yes},
		{"payAmount", "gt", "5", "EUR", "5.0000000000000000001", yes},
		{"payAmount", "gt", "5", "EUR", "much", unknown},
	})
}

// The status of a constraint counts if the question has no fact. ODRL IM 2.5.1 status.
func TestConformanceStatus(t *testing.T) {
	c := `{"leftOperand":"meteredTime","operator":"lteq","rightOperand":"PT10H","status":"PT11H"}`
	if got := weigh(t, c, "", noWorld); got != no {
		t.Errorf("with the status: %s, want %s", got, no)
	}
	if got := weigh(t, c, `"meteredTime":"PT1H"`, noWorld); got != yes {
		t.Errorf("with a fact in the question: %s, want %s", got, yes)
	}
}

// Kleene's tables in permissions and prohibitions, with each operand in the report.
func TestConformanceLogicalConstraints(t *testing.T) {
	operand := map[truth]string{
		yes: constraint("purpose", "eq", "a", ""), no: constraint("purpose", "eq", "b", ""),
		unknown: constraint("industry", "eq", "a", ""),
	}
	for op, table := range map[string]string{"and": "TFUFFFUFU", "andSequence": "TFUFFFUFU", "or": "TTTTFUTUU", "xone": "FTUTFUUUU"} {
		for i, a := range []truth{yes, no, unknown} {
			for j, b := range []truth{yes, no, unknown} {
				want := map[byte]truth{'T': yes, 'F': no, 'U': unknown}[table[3*i+j]]
				for name, c := range map[string]string{
					"plain": `{"` + op + `":{"@list":[` + operand[a] + `,` + strings.Replace(operand[b], "}", `,"dataType":"xsd:string"}`, 1) + `]}}`,
					"nested": `{"or":[` + operand[no] + `,{"` + op + `":[` + operand[a] + `,` +
						strings.Replace(operand[b], "}", `,"dataType":"xsd:string"}`, 1) + `]}]}`,
				} {
					if got := weigh(t, c, `"purpose":"a"`, noWorld); got != want {
						t.Errorf("%s: %s of %s and %s: %s, want %s", name, op, a, b, got, want)
					}
				}
			}
		}
	}
	p := load(t, set(`"permission":{"uid":"ex:p","action":"read","target":"ex:x","constraint":{"uid":"ex:all","and":[{"uid":"ex:one","leftOperand":"purpose","operator":"eq","rightOperand":"a"},
		{"or":[{"uid":"ex:two","leftOperand":"purpose","operator":"eq","rightOperand":"b"},{"uid":"ex:three","leftOperand":"industry","operator":"eq","rightOperand":"c"}]}]}}`))
	r := report(t, evaluate(t, p, strings.Replace(aliceReads, `"party"`, `"context":{"purpose":"a"},"party"`, 1), noWorld, ""), "p")
	want := map[string]odrl.State{
		"http://example.org/all": odrl.Unsatisfied, "http://example.org/one": odrl.Satisfied,
		"/permission/constraint/and/1": odrl.Unsatisfied, "http://example.org/two": odrl.Unsatisfied, "http://example.org/three": odrl.Unsatisfied,
	}
	if fmt.Sprint(r.Constraints) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", r.Constraints, want)
	}
}
