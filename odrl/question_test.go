package odrl_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/odrl"
)

const asRequest = `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"ex":"http://example.org/"}],"@type":"Request","uid":"ex:ask","permission":[{"assignee":"ex:alice","action":"odrl:read","target":"ex:x",
	"constraint":[{"leftOperand":"purpose","operator":"eq","rightOperand":{"@id":"ex:research"}},{"leftOperand":"count","operator":"eq","rightOperand":3}]}]}`

func TestQuestions(t *testing.T) {
	plain, err := odrl.ParseQuestion([]byte(`{"party":"http://example.org/alice","action":"read","target":"http://example.org/x","context":{"purpose":"http://example.org/research","count":3}}`), false)
	if err != nil {
		t.Fatal(err)
	}
	if plain.Party != "http://example.org/alice" || plain.Action != "read" || plain.Target != "http://example.org/x" ||
		plain.Context["count"] != json.Number("3") {
		t.Errorf("got %+v", plain)
	}
	request, err := odrl.ParseQuestion([]byte(asRequest), false)
	if err != nil {
		t.Fatal(err)
	}
	want := odrl.Question{
		Party: "http://example.org/alice", Action: "read", Target: "http://example.org/x",
		Context: map[string]any{"purpose": []any{"http://example.org/research"}, "count": []any{"3"}},
	}
	if !reflect.DeepEqual(request, want) {
		t.Errorf("got %+v, want %+v", request, want)
	}
	p := load(t, set(`"permission":{"assignee":"ex:alice","action":"read","target":"ex:x","constraint":[{"leftOperand":"purpose","operator":"eq","rightOperand":"ex:research"},{"leftOperand":"count","operator":"lteq","rightOperand":3}]}`))
	for _, q := range []odrl.Question{plain, request} {
		if e, err := p.Evaluate(t.Context(), q, odrl.WorldState{}, odrl.EvaluateOptions{}); err != nil || !e.Permit || len(e.Limits) != 0 {
			t.Errorf("%+v: %+v, %v", q, e, err)
		}
	}
	for doc, names := range map[string]string{
		``: "empty", `[]`: "array", `{}`: "target", `{"action":5,"target":"x"}`: "action", `{"action":"read"}`: "target",
		`{"action":"read","target":"x","subject":"y"}`: "subject", `{"action":"read","target":"x","context":[]}`: "context",
		`{"action":"read","target":"x"} {}`: "", `{"action":"read","action":"use","target":"x"}`: "action",
		strings.Replace(asRequest, "Request", "Set", 1): "Request", strings.Replace(asRequest, `"permission"`, `"prohibition"`, 1): "party",
		strings.Replace(asRequest, `"odrl:read"`, `["read","print"]`, 1):                  "one permission",
		strings.Replace(asRequest, `"operator":"eq"`, `"operator":"gt"`, 1):               "/permission/0/constraint/0",
		`{"action":"read","target":"x","context":{` + manyFacts(257) + `}}`:               "256",
		`{"action":"read","target":"` + strings.Repeat("x", odrl.MaxQuestion) + `"}`:      "bytes",
		`{"action":"read","target":"x","context":{"a":` + strings.Repeat("[", 1000) + `}`: "",
	} {
		q, err := odrl.ParseQuestion([]byte(doc), false)
		if !errors.Is(err, odrl.ErrQuestion) || !reflect.DeepEqual(q, odrl.Question{}) {
			t.Errorf("%.80s: %+v, %v; want %v and %+v", doc, q, err, odrl.ErrQuestion, odrl.Question{})
		} else if names != "party" && names != "empty" && !strings.Contains(err.Error(), names) {
			t.Errorf("%.80s: the error does not name %s: %v", doc, names, err)
		}
	}
	for _, doc := range []string{
		`{"action":"read","subject":"y"}`, strings.Replace(asRequest, "Request", "Set", 1),
		strings.Replace(asRequest, `"operator":"eq"`, `"operator":"gt"`, 1),
	} {
		if _, err := odrl.ParseQuestion([]byte(doc), true); err != nil {
			t.Errorf("leniently: %v", err)
		}
	}
}

func manyFacts(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"x%d":1`, i)
	}
	return strings.Join(list, ",")
}

func TestStatesOfTheWorld(t *testing.T) {
	w, err := odrl.ParseWorldState([]byte(`{"currentTime":{"@value":"2026-06-15T12:00:00+02:00","@type":"xsd:dateTime"},"partOf":{"member":"a","collection":{"@id":"b"}},
		"performed":[{"party":"a","action":"inform","target":"x","time":"2026-06-15T11:00:00Z","context":{"media":"letter"}},{"action":"read"}],
		"dutyReports":[{"rule":"d","performanceState":"https://w3id.org/force/compliance-report#Performed","deonticState":"Fulfilled"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := odrl.WorldState{
		Now: time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC), PartOf: []odrl.Membership{{Member: "a", Collection: "b"}},
		Done: []odrl.Act{{
			Party: "a", Action: "inform", Target: "x", At: time.Date(2026, 6, 15, 11, 0, 0, 0, time.UTC),
			Context: map[string]any{"media": "letter"},
		}, {Action: "read"}},
		Reports: []odrl.DutyReport{{Rule: "d", Performance: "Performed", Deontic: "Fulfilled"}},
	}
	if !reflect.DeepEqual(w, want) {
		t.Errorf("got %+v, want %+v", w, want)
	}
	for doc, names := range map[string]string{
		`null`: "null", `{"now":"2026-06-15T12:00:00Z"}`: "/now", `{"currentTime":"noon"}`: "/currentTime",
		`{"currentTime":5}`: "/currentTime", `{"partOf":[{"member":"a"}]}`: "/0", `{"partOf":["a"]}`: "/0",
		`{"performed":[{"party":"a"}]}`: "action", `{"performed":[{"action":"a","time":"x"}]}`: "/performed",
		`{"performed":[{"action":"a","context":5}]}`: "context", `{"performed":[{"action":"a","when":5}]}`: "/when",
		`{"dutyReports":[{"rule":"d","deonticState":"Fine"}]}`: "deonticState", `{"dutyReports":[{"deonticState":"Violated"}]}`: "rule",
		`{"dutyReports":[{"rule":"d","performanceState":"Maybe"}]}`:                                "performanceState",
		`{"performed":[` + strings.TrimSuffix(strings.Repeat(`{"action":"a"},`, 1001), ",") + `]}`: "1000",
	} {
		if w, err := odrl.ParseWorldState([]byte(doc)); !errors.Is(err, odrl.ErrWorldState) || !strings.Contains(err.Error(),
			names) || !reflect.DeepEqual(w, odrl.WorldState{}) {
			t.Errorf("%.80s: %+v, %v", doc, w, err)
		}
	}
}

// FuzzParseQuestion checks that an error comes with the zero value, and that a policy can evaluate a parsed question.
func FuzzParseQuestion(f *testing.F) {
	for _, s := range []string{
		aliceReads, asRequest,
		`{"action":"use","target":"*","context":{"dateTime":"2026-06-15","purpose":["a",{"@id":"ex:b"}],"payAmount":{"value":1,"unit":"EUR"}}}`,
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	p, problems := odrl.Load(f.Context(), []byte(set(`"permission":[{"uid":"ex:p","action":"use","constraint":[`+constraint("payAmount", "lt", "5", "EUR")+`,`+constraint("purpose", "isA", "ex:b", "")+`,`+constraint("absoluteSize", "lt", "5", "MB")+`]},
		{"uid":"ex:q","action":"read","target":"ex:x","constraint":[`+constraint("elapsedTime", "lt", "P1D", "")+`,`+constraint("event", "lt", "ex:e", "")+`,`+constraint("version", "lt", "2", "")+`]}]`)), odrl.LoadOptions{Lenient: true})
	if p == nil {
		f.Fatal(problems)
	}
	f.Fuzz(func(t *testing.T, doc []byte, lenient bool) {
		q, err := odrl.ParseQuestion(doc, lenient)
		if err != nil {
			if !errors.Is(err, odrl.ErrQuestion) || !reflect.DeepEqual(q, odrl.Question{}) {
				t.Fatalf("got %+v, %v; want %v and %+v", q, err, odrl.ErrQuestion, odrl.Question{})
			}
			return
		}
		e, err := p.Evaluate(t.Context(), q, odrl.WorldState{}, odrl.EvaluateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if e.Permit != (e.Reason == "") || len(e.Rules) != 2 {
			t.Fatalf("got %+v; want Permit %v and Rules of length 2", e, e.Reason == "")
		}
		if _, err := json.Marshal(e); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzParseWorldState checks that an error comes with the zero value, and that a prohibition holds in every world.
func FuzzParseWorldState(f *testing.F) {
	for _, s := range []string{
		noWorld, atNoon, `{"currentTime":"2026-06-15T12:00:00Z","partOf":[{"member":"a","collection":"b"},{"member":"b","collection":"a"}],"performed":[{"party":"http://example.org/alice","action":"read","target":"http://example.org/x","time":"2026-06-15T11:00:00Z"}],
		"dutyReports":[{"rule":"http://example.org/d","performanceState":"Performed","deonticState":"Violated"}]}`,
	} {
		f.Add([]byte(s))
	}
	p, problems := odrl.Load(f.Context(), []byte(set(`"conflict":"prohibit"`,
		`"permission":{"uid":"ex:p","action":"use","target":"ex:x","duty":{"uid":"ex:d","action":"inform"}}`,
		`"prohibition":{"uid":"ex:f","action":"read","assignee":"ex:alice","remedy":{"action":"pay"}}`,
		`"obligation":{"uid":"ex:o","action":"delete","constraint":`+constraint("dateTime", "lt", "2026-06-01",
			"")+`,"consequence":{"action":"pay"}}`)), odrl.LoadOptions{Lenient: true})
	if p == nil {
		f.Fatal(problems)
	}
	q := odrl.Question{Party: "http://example.org/alice", Action: "read", Target: "http://example.org/x"}
	f.Fuzz(func(t *testing.T, doc []byte) {
		w, err := odrl.ParseWorldState(doc)
		if err != nil {
			if !errors.Is(err, odrl.ErrWorldState) || !reflect.DeepEqual(w, odrl.WorldState{}) {
				t.Fatalf("got %+v, %v; want %v and %+v", w, err, odrl.ErrWorldState, odrl.WorldState{})
			}
			return
		}
		for _, mode := range []odrl.DutyMode{"", odrl.DutiesNotViolated} {
			e, err := p.Evaluate(t.Context(), q, w, odrl.EvaluateOptions{DutyMode: mode})
			if err != nil {
				t.Fatal(err)
			}
			if e.Permit {
				t.Fatalf("got %+v", e)
			}
		}
	})
}
