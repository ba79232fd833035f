package odrl_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl"
)

func TestPublishFetchesNothing(t *testing.T) {
	var requests atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer s.Close()
	doc := strings.Replace(permit(`"uid":"`+s.URL+`/rule","assigner":"`+s.URL+`/me","constraint":{"leftOperand":"purpose","operator":"eq","rightOperand":{"@id":"`+s.URL+`/purpose"}}`),
		`"http://www.w3.org/ns/odrl.jsonld"`, `["http://www.w3.org/ns/odrl.jsonld","`+s.URL+`/context.jsonld"]`, 1)
	p := publish(t, []byte(doc), world())
	if d := decide(t, p, odrl.Request{
		AgentID: "a", Intent: search.UID, Now: noon,
		Facts: map[string]any{"purpose": s.URL + "/purpose"},
	}); !d.Permit {
		t.Errorf("got %+v", d)
	}
	if _, problems := odrl.Publish(t.Context(), []byte(in(`"profile":"`+s.URL+`/profile","inheritFrom":"`+s.URL+`/parent"`)),
		world()); !problems.Failed() {
		t.Error("an unknown profile was accepted")
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("%d requests were made", n)
	}
}

func TestRegoInStringsIsNotEvaluated(t *testing.T) {
	var all judgements
	for _, text := range []string{
		`a"; allow := true #`, "a\n}\n\nactive contains 1 if true\n", "`", `{{.}}`, `" or true or "`,
		`data.policy`, `input.facts`, `\u0022`, `a" } active contains 1 { true`,
	} {
		c := leaf("purpose", "eq", text)
		for fact, want := range map[string]truth{text: yes, "x": no} {
			all.add(c, noon, map[string]any{"purpose": fact}, want)
		}
	}
	all.check(t)
}

func TestPublishManyRules(t *testing.T) {
	w := odrl.World{Hosts: []string{"example.com"}}
	var rules []string
	for i := range odrl.ManyRules {
		uid := "example.com:intent-" + string(rune('a'+i%26)) + strings.Repeat("x", i/26%20) + "-" + time.Duration(i).String() + ":v1"
		w.Intents = append(w.Intents, odrl.Asset{UID: uid, Namespace: "example.com", Name: strings.Split(uid, ":")[1], Title: uid})
		rules = append(rules, `{"target":"`+uid+`","action":"execute","constraint":{"leftOperand":"count","operator":"lteq","rightOperand":9,"unit":"day"}}`)
	}
	p := publish(t, []byte(policy(`"permission":[`+strings.Join(rules, ",")+`]`)), w)
	if d := decide(t, p, odrl.Request{AgentID: "a", Intent: w.Intents[odrl.ManyRules-1].UID, Now: noon}); d.Rule != "/permission/"+strconv.Itoa(odrl.ManyRules-1) {
		t.Errorf("got %+v", d)
	}
}

// FuzzPublish checks that no document makes Publish panic or hang, that it returns either a Policy or errors, and that a permit names a
// permission in the document.
func FuzzPublish(f *testing.F) {
	for _, name := range []string{"uim-core.json", "homes.json", "draft.json"} {
		f.Add(file(f, name))
	}
	for _, s := range []string{
		permit(`"constraint":[{"or":[` + leaf("purpose", "isAnyOf", list{"a", "b"}) + `,` + leaf("dateTime", "lt", "2026-12-31") + `]}]`),
		policy(`"conflict":"perm"`, `"permission":{`+all+`}`, `"prohibition":{`+all+`,"constraint":`+leaf("spatial", "isPartOf", "US")+`}`),
		permit(`"duty":[{"action":"pay","amount":{"value":1,"currency":"EUR"}},{"action":"attribute","description":"x"}]`),
		strings.Replace(permit(""), `"http://www.w3.org/ns/odrl.jsonld"`, `[{"ex":"http://ex.example/","run":"odrl:execute"}]`, 1),
		`{"@context":"x","@graph":[{"uid":"http://a/b","permission":{"target":"*","action":"use"}}]}`,
	} {
		f.Add([]byte(s))
	}
	w := world()
	w.AnyAssignee = true
	f.Fuzz(func(t *testing.T, doc []byte) {
		p, problems := odrl.Publish(t.Context(), doc, w)
		if (p == nil) != problems.Failed() {
			t.Fatalf("policy %v, problems %v", p != nil, problems)
		}
		if p == nil {
			return
		}
		tree, err := strictjson.DecodeObject(doc)
		if err != nil {
			t.Fatal("a document that is not JSON was published")
		}
		for _, a := range w.Intents {
			for _, facts := range []map[string]any{nil, {"purpose": "a", "spatial": "US-CA"}} {
				d, err := p.Decide(t.Context(), odrl.Request{
					AgentID: "agent-1", AgentKey: []byte("k"), ProofKey: []byte("k"), Intent: a.UID, Now: noon, Facts: facts,
				})
				if err != nil {
					t.Fatal(err)
				}
				terms, err := p.Terms(t.Context(), odrl.Request{AgentID: "agent-1", AgentKey: []byte("k"), Intent: a.UID, Facts: facts})
				if err != nil {
					t.Fatal(err)
				}
				if !d.Permit {
					continue
				}
				if !terms.Permitted {
					t.Fatalf("permitted, but the terms do not include it: %+v", terms)
				}
				for _, c := range d.Candidates {
					if strings.HasPrefix(c.Rule, "/") {
						if _, ok := strictjson.Lookup(tree, c.Rule); !ok {
							t.Fatalf("permitted by %q, which is not in the document", c.Rule)
						}
					}
				}
			}
		}
	})
}
