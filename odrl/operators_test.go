package odrl_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

func TestOperators(t *testing.T) {
	iri := func(s string) string { return "http://vocab.example/" + s }
	var all judgements
	for _, tt := range []struct {
		op    string
		right any
		want  map[string]truth // by fact; see the values below
	}{
		{"eq", "a", map[string]truth{"a": yes, "b": no, "a a": yes, "a b": unknown, "b c": no}},
		{"neq", "a", map[string]truth{"a": no, "b": yes, "a b": unknown, "b c": yes}},
		{"neg", "a", map[string]truth{"a": no, "b": yes}},
		{"ne", "a", map[string]truth{"a": no, "b": yes}},
		{"isAnyOf", list{"a", "b"}, map[string]truth{"a": yes, "b": yes, "c": no, "a c": yes, "c d": no}},
		{"isAnyOf", "a", map[string]truth{"a": yes, "b": no}},
		{"isNoneOf", list{"a", "b"}, map[string]truth{"a": no, "c": yes, "a c": no, "c d": yes}},
		{"isAllOf", list{"a", "b"}, map[string]truth{"a": no, "a b": yes, "a b c": yes, "c": no}},
		{"isA", "a", map[string]truth{"a": yes, "b": unknown, "a b": unknown}},
		{"isPartOf", "a", map[string]truth{"a": yes, "b": unknown, "a-b": unknown}},
		{"hasPart", list{"a", "b"}, map[string]truth{"a b": yes, "a": unknown, "a b c": yes}},
		{"eq", iri("a"), map[string]truth{iri("a"): yes, iri("b"): no, "a": unknown, iri("a") + " a": unknown}},
		{"isNoneOf", list{iri("a")}, map[string]truth{iri("a"): no, iri("b"): yes, "b": unknown}},
	} {
		c := leaf("purpose", tt.op, tt.right)
		for fact, want := range tt.want {
			words := strings.Fields(fact)
			all.add(c, noon, map[string]any{"purpose": words}, want)
			if len(words) == 1 { // alone, not as a list
				all.add(c, noon, map[string]any{"purpose": words[0]}, want)
			}
		}
		for _, facts := range []map[string]any{
			nil,
			{"purpose": nil},
			{"purpose": ""},
			{"purpose": list{}},
			{"purpose": json.Number("1")},
			{"purpose": true},
			{"purpose": noon},
			{"purpose": list{"a", json.Number("1")}}, // one element has the wrong type
			{"purpose": list{list{"a"}}},
			{"recipient": "a"},              // another operand
			{"purpose": make([]string, 65)}, // too many values
		} {
			all.add(c, noon, facts, unknown)
		}
	}
	all.check(t)
}

func TestRegionAndLanguageContainment(t *testing.T) {
	var all judgements
	for _, tt := range []struct {
		left, op string
		right    any
		fact     string
		want     truth
	}{
		{"spatial", "isPartOf", "US", "US-CA", yes},
		{"spatial", "isPartOf", "US", "us-ca", yes},
		{"spatial", "isPartOf", "US", "US", yes},
		{"spatial", "isPartOf", "US", "DE", no},
		{"spatial", "isPartOf", "US", "USA", unknown},
		{"spatial", "isPartOf", "US-CA", "US", no},
		{"spatial", "isPartOf", "EU", "DE", unknown},
		{"spatial", "isPartOf", "EU", "EU", yes},
		{"spatial", "isPartOf", "DE", "http://dbpedia.org/resource/Germany", yes},
		{"spatial", "neq", "DE", "https://www.wikidata.org/wiki/Q183", no},
		{"spatial", "isPartOf", "http://publications.europa.eu/resource/authority/country/DEU", "DE-BY", yes},
		{"spatial", "isPartOf", "http://www.itu.int/tML/tML-ISO-3166:de", "FR", no},
		{"spatial", "isPartOf", "DE", "http://dbpedia.org/resource/Bavaria", unknown},
		{"spatial", "neq", "DE", "http://dbpedia.org/resource/Bavaria", unknown},
		{"spatial", "hasPart", "US-CA", "US", yes},
		{"spatial", "hasPart", "US-CA", "DE", no},
		{"spatial", "eq", "DE", "de", yes},
		{"spatial", "isAnyOf", list{"DE", "FR"}, "FR-75", unknown},
		{"language", "isPartOf", "en", "en-GB", yes},
		{"language", "isPartOf", "en", "enm", no},
		{"language", "eq", "en", "EN", yes},
		{"language", "eq", "en", "http://id.loc.gov/vocabulary/iso639-2/eng", yes},
		{"language", "isPartOf", "deu", "de-AT", yes},
	} {
		all.add(leaf(tt.left, tt.op, tt.right), noon, map[string]any{tt.left: tt.fact}, tt.want)
	}
	all.check(t)
}

func TestQuantitiesAndPlaces(t *testing.T) {
	n := func(s string) json.Number { return json.Number(s) }
	var all judgements
	for _, tt := range []struct {
		left, op string
		right    any
		unit     string
		fact     any
		want     truth
	}{
		{"absoluteSize", "lteq", 5, "", n("5"), yes},
		{"absoluteSize", "lteq", 5, "", "5.0", yes},
		{"absoluteSize", "lteq", 5, "", n("5.000000000000000000000000001"), no},
		{"absoluteSize", "lt", "0.3", "", n("0.1e0"), yes},
		{"absoluteSize", "eq", "0.1", "", n("1e-1"), yes},
		{"absoluteSize", "lteq", "123456789012345678901234567890", "", n("123456789012345678901234567891"), no},
		{"absoluteSize", "isAnyOf", list{1, 2}, "", n("2.0"), yes},
		{"absoluteSize", "isNoneOf", list{1, 2}, "", n("2.0"), no},
		{"absoluteSize", "lteq", 5, "", "many", unknown},
		{"absoluteSize", "lteq", 5, "", true, unknown},
		{"absoluteSize", "lteq", 5, "", n("-1"), unknown},
		{"absoluteSize", "lteq", 5, "", list{n("1"), n("2")}, unknown},
		{"absoluteSize", "lteq", 5, "", "0x5", unknown},
		{"absoluteSize", "lteq", 5, "", "NaN", unknown},
		{"absoluteSize", "gteq", 5, "", "1e100", unknown},
		{"absoluteSize", "gteq", 5, "", "1" + strings.Repeat("0", 64), unknown},
		{"absoluteSize", "gteq", 5, "", "1e99", yes},
		{"absoluteSize", "lteq", 5, "MB", n("5"), yes},
		{"absoluteSize", "lteq", 5, "MB", map[string]any{"value": n("5001"), "unit": "KB"}, no},
		{"absoluteSize", "lteq", 5, "MB", map[string]any{"value": n("1"), "unit": "hour"}, unknown},
		{"percentage", "lteq", 50, "", n("50"), yes},
		{"percentage", "gt", 50, "", n("101"), unknown},
		{"percentage", "lt", 50, "", n("-1"), unknown},
		{"absolutePosition", "lt", 5, "", n("-1"), yes},
		{"elapsedTime", "lteq", "P30D", "", "PT720H", yes},
		{"elapsedTime", "lteq", "P30D", "", "P31D", no},
		{"elapsedTime", "lt", "P30D", "", "P1M", unknown},
		{"elapsedTime", "lt", "P32D", "", "P1M", yes},
		{"elapsedTime", "lt", "P27D", "", "P1M", no},
		{"elapsedTime", "lteq", "P1D", "", "1", unknown},
		{"elapsedTime", "lteq", "P1D", "", "P", unknown},
		{"elapsedTime", "lteq", 60, "minute", n("60"), yes},
		{"elapsedTime", "lteq", 60, "minute", "PT60M1S", no},
		{"timeInterval", "eq", "P1Y", "", "P12M", yes},
		{"delayPeriod", "gteq", "PT0.5S", "", "PT0.499999999S", no},
		{"meteredTime", "isAnyOf", list{"PT1H", "PT2H"}, "", "PT120M", yes},
		{"virtualLocation", "isPartOf", "10.0.0.0/8", "", "10.1.2.3", yes},
		{"virtualLocation", "eq", "10.0.0.0/8", "", "10.1.2.3", yes},
		{"virtualLocation", "eq", "10.0.0.0/8", "", "11.1.2.3", no},
		{"virtualLocation", "eq", "10.0.0.0/8", "", list{"10.1.2.3", "11.1.2.3"}, unknown},
		{"virtualLocation", "neq", "10.0.0.0/8", "", "::ffff:10.1.2.3", no},
		{"virtualLocation", "neq", "10.0.0.0/8", "", "2001:db8::1", yes},
		{"virtualLocation", "neq", "10.0.0.0/8", "", list{"10.1.2.3", "11.1.2.3"}, unknown},
		{"virtualLocation", "isAnyOf", list{"10.0.0.0/8", "192.0.2.1"}, "", "192.0.2.1", yes},
		{"virtualLocation", "isAnyOf", list{"10.0.0.0/8", "192.0.2.1"}, "", "192.0.2.2", no},
		{"virtualLocation", "isNoneOf", list{"10.0.0.0/8", "2001:db8::/32"}, "", "2001:db8::1", no},
		{"virtualLocation", "isNoneOf", list{"10.0.0.0/8", "2001:db8::/32"}, "", "2001:db9::1", yes},
		{"virtualLocation", "isNoneOf", list{"10.0.0.0/8"}, "", "api.example.com", unknown},
		{"virtualLocation", "neq", "evil.example", "", "192.0.2.1", unknown},
		{"virtualLocation", "eq", "example.com", "", "EXAMPLE.com.", yes},
		{"virtualLocation", "eq", "example.com", "", "api.example.com", unknown},
		{"virtualLocation", "isPartOf", "example.com", "", "api.example.com", yes},
		{"virtualLocation", "isPartOf", "example.com", "", "example.com.evil.example", no},
		{"virtualLocation", "isPartOf", "10.0.0.0/8", "", "10.1.2", unknown},
		{"virtualLocation", "isPartOf", "10.0.0.0/8", "", "fe80::1%eth0", unknown},
		{"event", "eq", "http://example.com/fair", "", "http://example.com/fair", yes},
		{"event", "eq", "http://example.com/fair", "", list{"http://example.com/feast", "http://example.com/fair"}, yes},
		{"event", "eq", "http://example.com/fair", "", "http://example.com/feast", unknown},
		{"event", "eq", "http://example.com/fair", "", true, unknown},
		{"dataUsage", "eq", "training", "", "training", yes},
		{"spatialCoordinates", "eq", "52.5,13.4", "", "52.5,13.4", yes},
		{"unitOfCount", "isAnyOf", list{"user", "seat"}, "", "team", no},
		{"intentPrice", "lteq", 1, "EUR", "0.99 EUR", yes},
		{"intentPrice", "lteq", 1, "EUR", "0.99 USD", unknown},
	} {
		c := leaf(tt.left, tt.op, tt.right)
		if tt.unit != "" {
			c = strings.TrimSuffix(c, "}") + `,"unit":"` + tt.unit + `"}`
		}
		all.add(c, noon, map[string]any{tt.left: tt.fact}, tt.want)
		all.add(c, noon, nil, unknown)
	}
	all.check(t)
}

// A bare number has the unit of each constraint that it is compared with.
func TestNumbersOfSeveralUnits(t *testing.T) {
	p := publish(t, []byte(permit(`"constraint":[{"leftOperand":"absoluteSize","operator":"lteq","rightOperand":5,"unit":"MB"},{"leftOperand":"absoluteSize","operator":"gteq","rightOperand":1,"unit":"KB"}]`)), world())
	for fact, want := range map[string]bool{"5": true, "0.5": false, "6": false} {
		r := odrl.Request{AgentID: "a", Intent: search.UID, Now: noon, Facts: map[string]any{"absoluteSize": json.Number(fact)}}
		e, err := p.Evaluate(t.Context(), odrl.Question{Party: "a", Action: "execute", Target: search.UID, Context: r.Facts},
			odrl.WorldState{Now: noon}, odrl.EvaluateOptions{})
		if d := decide(t, p, r); err != nil || d.Permit != want || e.Permit != want {
			t.Errorf("%s: decide %v, evaluate %v %v, want %v", fact, d.Permit, e.Permit, err, want)
		}
	}
}

func TestDates(t *testing.T) {
	var all judgements
	for _, tt := range []struct {
		op, right, now string
		want           truth
	}{
		// Times are compared as instants, not as strings.
		{"lt", "2026-06-15T12:00:00Z", "2026-06-15T11:59:59.999999999Z", yes},
		{"lt", "2026-06-15T12:00:00Z", "2026-06-15T12:00:00Z", no},
		{"lteq", "2026-06-15T12:00:00.000Z", "2026-06-15T12:00:00Z", yes},
		{"eq", "2026-06-15T14:00:00+02:00", "2026-06-15T12:00:00Z", yes},
		{"neq", "2026-06-15T14:00:00+02:00", "2026-06-15T12:00:00Z", no},
		{"gt", "2026-06-15T12:00:00Z", "2026-06-15T12:00:00Z", no},
		{"gt", "2026-06-15T12:00:00Z", "2026-06-15T12:00:00.000000001Z", yes},
		{"gte", "2026-06-15T12:00:00Z", "2026-06-15T12:00:00Z", yes},
		{"lte", "2026-06-15T12:00:00", "2026-06-15T12:00:00Z", yes},
		{"lt", "9999-12-31T23:59:59Z", "2026-06-15T12:00:00Z", yes},
		{"gt", "0001-01-01T00:00:00Z", "2026-06-15T12:00:00Z", yes},
		// A date means the whole day.
		{"lt", "2026-06-15", "2026-06-14T23:59:59.999Z", yes},
		{"lt", "2026-06-15", "2026-06-15T00:00:00Z", no},
		{"lteq", "2026-06-15", "2026-06-15T23:59:59.999Z", yes},
		{"lteq", "2026-06-15", "2026-06-16T00:00:00Z", no},
		{"gt", "2026-06-15", "2026-06-15T23:59:59Z", no},
		{"gt", "2026-06-15", "2026-06-16T00:00:00Z", yes},
		{"gteq", "2026-06-15", "2026-06-15T00:00:00Z", yes},
		{"gteq", "2026-06-15", "2026-06-14T23:59:59Z", no},
		{"eq", "2026-06-15", "2026-06-15T12:00:00Z", yes},
		{"eq", "2026-06-15", "2026-06-16T00:00:00Z", no},
		{"neq", "2026-06-15", "2026-06-15T12:00:00Z", no},
		{"neq", "2026-06-15", "2026-06-14T12:00:00Z", yes},
		{"eq", "2026-06-15+02:00", "2026-06-14T22:00:00Z", yes},
		{"within", "2026-06-01/2026-06-15", "2026-06-15T23:00:00Z", yes},
		{"outside", "2026-06-01T00:00:00Z/2026-06-15T12:00:00Z", "2026-06-15T12:00:00Z", yes},
	} {
		now, err := time.Parse(time.RFC3339Nano, tt.now)
		if err != nil {
			t.Fatal(err)
		}
		all.add(leaf("dateTime", tt.op, tt.right), now, nil, tt.want)
	}
	all.add(leaf("dateTime", "lt", "2026-06-15"), time.Time{}, map[string]any{"dateTime": "2020-01-01"}, unknown) // without a clock
	all.check(t)
}

func TestTimeWindows(t *testing.T) {
	var all judgements
	day := map[string]string{"start": "09:00:00Z", "end": "17:00:00Z"}
	night := map[string]string{"start": "22:00:00Z", "end": "06:00:00Z"}
	for _, tt := range []struct {
		op    string
		right any
		now   string
		want  truth
	}{
		{"within", day, "09:00:00Z", yes},
		{"within", day, "17:00:00Z", no},
		{"isPartOf", day, "16:59:59.9Z", yes},
		{"outside", day, "17:00:00Z", yes},
		{"outside", day, "12:00:00Z", no},
		{"within", night, "22:00:00Z", yes},
		{"within", night, "05:59:59Z", yes},
		{"within", night, "06:00:00Z", no},
		{"outside", night, "12:00:00Z", yes},
		{"outside", night, "23:00:00Z", no},
		{"within", "09:00+02:00/17:00+02:00", "07:00:00Z", yes},
		{"within", "09:00+02:00/17:00+02:00", "15:00:00Z", no},
		{"within", "20:00:00Z/24:00:00Z", "23:59:59.999Z", yes},
		{"within", "20:00:00Z/00:00:00Z", "00:00:00Z", no},
		{"within", "2026-06-15T00:00:00Z/2026-06-16T00:00:00Z", "12:00:00Z", yes},
	} {
		now, err := time.Parse(time.RFC3339Nano, "2026-06-15T"+tt.now)
		if err != nil {
			t.Fatal(err)
		}
		for _, left := range []string{"timeWindow", "timeRange", "http://example.com/vocab/timeWindow"} {
			all.add(leaf(left, tt.op, tt.right), now, nil, tt.want)
		}
	}
	all.add(leaf("timeWindow", "within", day), time.Time{}, nil, unknown) // without a clock
	all.check(t)
}

func TestVersionsAndAmounts(t *testing.T) {
	for _, tt := range []struct {
		op    string
		right any
		fact  string
		want  bool
	}{
		{"eq", "v1", "v1.0.0", true},
		{"eq", "1.2", "v1.2.1", false},
		{"neq", "1.2", "v1.2.1", true},
		{"lt", "1.10", "v1.9", true},
		{"lteq", "1.9", "v1.10", false},
		{"gt", "v1", "v10", true},
		{"gteq", "v2", "v1.9.9", false},
		{"isAnyOf", list{"v2", "v1.1"}, "v1.1.0", true},
		{"isNoneOf", list{"v2", "v1.1"}, "v2", false},
	} {
		w := odrl.World{Intents: []odrl.Asset{{UID: "x.example:y:" + tt.fact, Namespace: "x.example", Name: "y"}}}
		doc := policy(`"permission":{"target":"x.example","action":"use","constraint":` + leaf("version", tt.op, tt.right) + `}`)
		d := decide(t, publish(t, []byte(doc), w), odrl.Request{Intent: "x.example:y:" + tt.fact, Facts: map[string]any{"version": "v1.9"}})
		if d.Permit != tt.want || d.Facts["version"] != tt.fact {
			t.Errorf("%s %v of %s: %+v", tt.op, tt.right, tt.fact, d)
		}
	}
	var all judgements
	for _, tt := range []struct {
		op   string
		fact any
		want truth
	}{
		{"lteq", "0.05 USD", yes},
		{"lteq", "0.050000001 USD", no},
		{"lteq", "0.01 EUR", unknown},
		{"lteq", "0.01", unknown},
		{"lteq", json.Number("0.01"), unknown},
		{"lteq", "abc", unknown},
		{"gt", "abc", unknown},
		{"gt", true, unknown},
		{"eq", "0.05 USD", yes},
		{"neq", "0.05 USD", no},
		{"neq", "0.05 EUR", unknown},
	} {
		c := `{"leftOperand":"payAmount","operator":"` + tt.op + `","rightOperand":{"@value":"0.05","@type":"xsd:decimal"},"unit":"USD"}`
		all.add(c, noon, map[string]any{"payAmount": tt.fact}, tt.want)
	}
	all.check(t)
}

// Kleene's tables, at every depth.
func TestLogicalConstraints(t *testing.T) {
	operand := map[truth]string{yes: leaf("purpose", "eq", "a"), no: leaf("purpose", "eq", "b"), unknown: leaf("industry", "eq", "a")}
	facts := map[string]any{"purpose": "a"}
	order := []truth{yes, no, unknown}
	var all judgements
	want := map[string]string{ // rows and columns in this order
		"and": "TFU FFF UFU", "andSequence": "TFU FFF UFU", "or": "TTT TFU TUU", "xone": "FTU TFU UUU",
	}
	for op, table := range want {
		table = strings.ReplaceAll(table, " ", "")
		for i, a := range order {
			for j, b := range order {
				w := map[byte]truth{'T': yes, 'F': no, 'U': unknown}[table[3*i+j]]
				body := operand[a] + "," + operand[b]
				for name, c := range map[string]string{
					"plain": `{"` + op + `":[` + body + `]}`, "@list": `{"` + op + `":{"@list":[` + body + `]}}`,
					"prefixed": `{"odrl:` + op + `":[` + body + `]}`,
					"under or": `{"or":[` + operand[no] + `,{"` + op + `":[` + body + `]}]}`,
				} {
					if name != "plain" && i != j { // test each form with one pair of truths
						continue
					}
					all.add(c, noon, facts, w)
				}
			}
		}
	}
	for _, tt := range []struct {
		three string
		want  truth
	}{
		{"TFF", yes}, {"TTU", no}, {"TTF", no}, {"UFF", unknown}, {"TUF", unknown}, {"FFF", no}, {"TTT", no},
	} {
		var parts []string
		for _, c := range tt.three {
			parts = append(parts, operand[map[rune]truth{'T': yes, 'F': no, 'U': unknown}[c]])
		}
		all.add(`{"xone":[`+strings.Join(parts, ",")+`]}`, noon, facts, tt.want)
	}
	all.check(t)
	c := leaf("recipient", "eq", "a")
	for depth := 1; depth <= model.MaxNesting; depth++ {
		c = `{"or":[` + c + `,` + operand[no] + `]}`
		if depth%2 == 0 { // a neutral element of another operator, so that every level is used
			c = strings.Replace(c, `{"or"`, `{"xone"`, 1)
		}
		var nested judgements
		for _, innermost := range order {
			facts := map[string]any{"purpose": "a", "recipient": map[truth]any{yes: "a", no: "b"}[innermost]}
			nested.add(c, noon, facts, innermost)
		}
		if slices.Contains(odrl.Depths, depth) {
			nested.check(t)
		}
	}
}
