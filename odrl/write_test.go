package odrl_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl"
)

// documents returns policies in every form, for tests of reading and writing and for fuzzing.
func documents(tb testing.TB) map[string]string {
	tb.Helper()
	docs := map[string]string{
		"compact": `{` + inContext + `,"@type":"Set","uid":"http://example.com/policy:1010","permission":[{"target":"http://example.com/asset:9898.movie","action":"use"}]}`,
		"expanded": `[{"@id":"http://example.com/p","@type":["http://www.w3.org/ns/odrl/2/Set"],"http://www.w3.org/ns/odrl/2/permission":[{"@id":"_:b0",
			"http://www.w3.org/ns/odrl/2/action":[{"@id":"http://www.w3.org/ns/odrl/2/use"}],"http://www.w3.org/ns/odrl/2/target":[{"@id":"http://example.com/a"}],
			"http://www.w3.org/ns/odrl/2/constraint":[{"http://www.w3.org/ns/odrl/2/and":[{"@list":[{"@id":"http://example.com/c1"},{"@id":"_:b2"}]}]}]}]},
			{"@id":"http://example.com/c1","http://www.w3.org/ns/odrl/2/leftOperand":[{"@id":"http://www.w3.org/ns/odrl/2/count"}],"http://www.w3.org/ns/odrl/2/operator":[{"@id":"http://www.w3.org/ns/odrl/2/lteq"}],"http://www.w3.org/ns/odrl/2/rightOperand":[{"@value":"5","@type":"http://www.w3.org/2001/XMLSchema#integer"}]},
			{"@id":"_:b2","http://www.w3.org/ns/odrl/2/leftOperand":[{"@id":"http://www.w3.org/ns/odrl/2/purpose"}],"http://www.w3.org/ns/odrl/2/operator":[{"@id":"http://www.w3.org/ns/odrl/2/isA"}],"http://www.w3.org/ns/odrl/2/rightOperand":[{"@id":"https://w3id.org/dpv#X"}]}]`,
		"flattened": `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"ex":"http://example.org/"}],"@graph":[
			{"@id":"urn:uuid:1","@type":"odrl:Set","odrl:uid":{"@id":"urn:uuid:1"},"dct:source":{"@id":"https://example.org/"},"permission":{"@id":"urn:uuid:2"}},
			{"@id":"urn:uuid:2","@type":"Permission","assignee":"ex:partyCollection","action":"read","target":"ex:x","duty":{"@id":"urn:uuid:3"}},
			{"@id":"urn:uuid:3","@type":"Duty","action":"compensate"},
			{"@id":"ex:partyCollection","@type":"PartyCollection","odrl:source":{"@id":"ex:partyIdentifier"}},
			{"@id":"ex:alice","@type":"foaf:Person","partOf":"ex:partyIdentifier"}]}`,
		"inherited": `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"ex":"http://example.com/"}],"@graph":[
			{"uid":"ex:parent","@type":"Policy","assigner":"ex:org-01","target":"ex:asset","obligation":[{"target":"ex:terms","action":"reviewPolicy"}]},
			{"uid":"ex:child","@type":"Agreement","inheritFrom":"ex:parent","assignee":"ex:user","permission":[{"target":"ex:5555","action":"display","constraint":{"leftOperand":"count","operator":"lt","rightOperand":10,"status":5}}]},
			{"@id":"ex:album","@type":["dc:Document","AssetCollection"],"dc:title":"Album","hasPolicy":["ex:child"],"partOf":["ex:archive"]},
			{"@id":"ex:hum","@type":"Action","includedIn":"play","implies":"odrl:present","rdfs:label":{"@value":"Summen","@language":"de"}}]}`,
		"rich": `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"foaf":"http://xmlns.com/foaf/0.1/"}],"type":["Agreement","http://other.example/Contract"],"uid":"http://example.com/p","profile":"http://example.com/odrl:profile:12","conflict":"prohibit","dct:description":"All of it",
			"permission":[{"uid":"http://example.com/p/1","target":{"type":"AssetCollection","source":"http://example.com/catalogue","refinement":[{"leftOperand":"runningTime","operator":"lt","rightOperand":{"@value":"60","@type":"xsd:integer"},"unit":"http://qudt.org/vocab/unit/MinuteTime"}]},
				"assigner":"http://example.com/user44","assignee":{"type":"PartyCollection","source":"http://example.com/user44/friends","refinement":{"leftOperand":"foaf:age","operator":"gt","rightOperand":{"@value":"17","type":"xsd:integer"}}},
				"action":[{"rdf:value":{"@id":"odrl:print"},"refinement":{"leftOperand":"resolution","operator":"lteq","rightOperand":"1200","dataType":"xsd:integer","unit":"http://dbpedia.org/resource/Dots_per_inch"}},"cc:Sharing"],"output":"http://example.com/out",
				"constraint":[{"uid":"http://example.com/p/c","andSequence":{"@list":[{"leftOperand":"event","operator":"gt","rightOperand":{"@id":"odrl:policyUsage"}},{"or":[{"leftOperand":"delayPeriod","operator":"gteq","rightOperand":{"@value":"PT60M","@type":"xsd:duration"}},{"leftOperand":"language","operator":"isAnyOf","rightOperand":["en",{"@value":"Deutsch","@language":"de"}]}]}]}},
					{"leftOperand":"payAmount","operator":"lteq","rightOperandReference":"http://example.com/limit","unit":"http://dbpedia.org/resource/Euro"},{"leftOperand":"dateTime","operator":"lt","rightOperand":{"@value":"2030-01-01","@type":"xsd:date"}}],
				"duty":[{"action":"attribute","attributedParty":"http://example.com/user44","consequence":{"action":"delete","target":"http://example.com/copy"}}]}],
			"prohibition":{"target":"http://example.com/x","action":"odrl:lend","assigner":"http://example.com/user44","assignee":"http://example.com/u","remedy":[{"action":"odrl:anonymize","target":"http://example.com/copy"}]}}`,
		"numbers": use(`"constraint":[{"leftOperand":"count","operator":"lt","rightOperand":1e2},{"leftOperand":"percentage","operator":"gt","rightOperand":0.1234567890123456789},{"leftOperand":"http://example.com/vocab/timeWindow","operator":"within","rightOperand":{"start":"09:00:00Z","end":"17:00:00Z"}},{"leftOperand":"media","operator":"eq","rightOperand":true}]`),
		"shared":  setOf(`"permission":[{` + asset + `,"action":"play","duty":{"uid":"http://example.com/d","action":"attribute"}},{` + asset + `,"action":"print","duty":"http://example.com/d"}]`),
	}
	for _, name := range []string{"uim-core.json", "homes.json", "draft.json"} {
		docs[name] = string(file(tb, name))
	}
	return docs
}

func TestCanonicalRoundTrip(t *testing.T) {
	for name, doc := range documents(t) {
		out, problems := odrl.Canonical([]byte(doc), odrl.LoadOptions{Lenient: true})
		if out == nil {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		again, problems := odrl.Canonical(out, odrl.LoadOptions{Lenient: true})
		if diff := cmp.Diff(string(out), string(again)); diff != "" {
			t.Errorf("%s: the canonical form has another meaning: %v\n%s", name, problems, diff)
		}
		if before, after := odrl.Validate(t.Context(), []byte(doc), odrl.ValidateOptions{Lenient: true}), odrl.Validate(t.Context(), out,
			odrl.ValidateOptions{Lenient: true}); before.Failed() != after.Failed() {
			t.Errorf("%s: %v\nand then %v", name, before, after)
		}
	}
}

func TestCanonicalForms(t *testing.T) {
	for in, want := range map[string]string{
		`"action":"http://www.w3.org/ns/odrl/2/use"`: `"action":"use"`,
		`"odrl:action":[{"@id":"odrl:copy"}]`:        `"action":"reproduce"`,
		`"action":"signPayload"`:                     `"action":"http://example.com/vocab/signPayload"`,
		`"action":{"id":"odrl:execute","refinement":` + one("count", "lte",
			`"5"`) + `}`: `"action":{"rdf:value":{"@id":"odrl:execute"},"refinement":[{"leftOperand":"count","operator":"lteq","rightOperand":"5"}]}`,
		`"action":"use","constraint":` +
			one("purpose", "neg",
				`{"@id":"dct:x"}`): `"constraint":[{"leftOperand":"purpose","operator":"neq","rightOperand":{"@id":"http://purl.org/dc/terms/x"}}]`,
		`"action":"use","duty":{"action":"pay","amount":0.5,"currency":"EUR"}`:                  `"duty":[{"action":{"rdf:value":{"@id":"odrl:compensate"},"refinement":[{"leftOperand":"payAmount","operator":"eq","rightOperand":"0.5","unit":"EUR"}]}}]`,
		`"action":"use","party":{"function":"odrl:assignee","identifier":"http://a.example/x"}`: `"assignee":"http://a.example/x"`,
	} {
		doc := setOf(`"permission":{` + asset + `,` + in + `}`)
		out, problems := odrl.Canonical([]byte(doc), odrl.LoadOptions{Lenient: false})
		if !bytes.Contains(out, []byte(want)) || problems.Failed() {
			t.Errorf("%s: %s %v\n  want %s", in, out, problems, want)
		}
	}
	out, problems := odrl.Canonical([]byte(strings.Replace(setOf(`"permission":{`+asset+`,"action":"use"}`), `"uid"`, `"price":5,"uid"`,
		1)), odrl.LoadOptions{})
	if out != nil || !problems.Failed() {
		t.Errorf("a key was lost: %s", out)
	}
}

// FuzzCanonical checks that the canonical form has the same policies and does not change when it is written again.
func FuzzCanonical(f *testing.F) {
	for _, doc := range documents(f) {
		f.Add([]byte(doc), true)
		f.Add([]byte(doc), false)
	}
	f.Fuzz(func(t *testing.T, doc []byte, lenient bool) {
		if _, err := strictjson.Decode(doc); err == nil {
			agree(t, doc, lenient)
		}
	})
}

// FuzzLoad checks that no document makes Load or Validate panic or hang, and that Load returns either a Policy or errors.
func FuzzLoad(f *testing.F) {
	for _, doc := range documents(f) {
		f.Add([]byte(doc), true)
		f.Add([]byte(doc), false)
	}
	f.Fuzz(func(t *testing.T, doc []byte, lenient bool) {
		p, problems := odrl.Load(t.Context(), doc, odrl.LoadOptions{Lenient: lenient})
		if (p == nil) != problems.Failed() {
			t.Fatalf("loaded %v, problems %v", p != nil, problems)
		}
		if judged := odrl.Validate(t.Context(), doc, odrl.ValidateOptions{Lenient: lenient}); find(judged, "json") != nil && p != nil {
			t.Fatalf("a document that is not JSON was loaded: %v", judged)
		}
	})
}

// TestMutatedDocuments changes valid documents step by step, and checks that reading, validating and writing agree on each result.
func TestMutatedDocuments(t *testing.T) {
	docs := documents(t)
	names := slices.Sorted(maps.Keys(docs))
	times := odrl.MutatedDocuments
	written := 0
	for seed := range times {
		r := rand.New(rand.NewPCG(11, uint64(seed)))
		tree, err := strictjson.Decode([]byte(docs[names[seed%len(names)]]))
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + r.IntN(3) {
			tree = mutate(r, tree)
		}
		doc, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		for _, lenient := range []bool{false, true} {
			if agree(t, doc, lenient) {
				written++
			}
		}
	}
	if written < times/4 {
		t.Errorf("only %d of %d mutants were written: the test covers too little", written, 2*times)
	}
}

// agree checks the invariants of reading, validating and writing a document, and reports whether it was written.
func agree(t *testing.T, doc []byte, lenient bool) bool {
	t.Helper()
	p, loading := odrl.Load(t.Context(), doc, odrl.LoadOptions{Lenient: lenient})
	if (p == nil) != loading.Failed() {
		t.Fatalf("%s\nloaded %v, problems %v", doc, p != nil, loading)
	}
	judged := odrl.Validate(t.Context(), doc, odrl.ValidateOptions{Lenient: lenient})
	if p == nil && !judged.Failed() && find(loading, "graph") == nil && find(loading, "no-policy") == nil {
		t.Fatalf("%s\nvalid, but not loaded: %v", doc, loading)
	}
	tree, err := strictjson.Decode(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range judged {
		if _, ok := strictjson.Lookup(tree, x.Pointer); !ok && x.Code != "json" {
			t.Fatalf("%s\nthe pointer of the problem %v is not in the document", doc, x)
		}
		if x.Message == "" || x.Code == "" || strings.Contains(x.Message, "%!") {
			t.Fatalf("%s\nproblem %+v", doc, x)
		}
	}
	out, problems := odrl.Canonical(doc, odrl.LoadOptions{Lenient: lenient})
	if (out == nil) != problems.Failed() {
		t.Fatalf("%s\nwritten %v, problems %v", doc, out != nil, problems)
	}
	if out == nil {
		return false
	}
	again, problems := odrl.Canonical(out, odrl.LoadOptions{Lenient: lenient})
	if !bytes.Equal(out, again) {
		t.Fatalf("%s\nbecame %s\nand then %s\n%v", doc, out, again, problems)
	}
	if after := odrl.Validate(t.Context(), out, odrl.ValidateOptions{Lenient: lenient}); judged.Failed() != after.Failed() {
		t.Fatalf("%s\n%v\nbecame %s\n%v", doc, judged, out, after)
	}
	return true
}
