package triples_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/odrl/internal/triples"
)

func written(list []triples.Triple) string {
	var b strings.Builder
	for _, t := range list {
		object := t.Object.Value
		if t.Object.Literal {
			object = fmt.Sprintf("%q", object)
			if t.Object.Language != "" {
				object += "@" + t.Object.Language
			}
		}
		fmt.Fprintf(&b, "%s %s %s\n", t.Subject, t.Predicate, object)
	}
	return b.String()
}

const statements = `http://e.example/a http://www.w3.org/1999/02/22-rdf-syntax-ns#type http://e.example/Action
http://e.example/a http://e.example/label "an \"a\""@en
http://e.example/a http://e.example/within http://e.example/b
http://e.example/a http://e.example/within http://f.example/c
`

func TestTurtleAndJSONLDAreEquivalent(t *testing.T) {
	for name, doc := range map[string]string{
		"turtle": `@prefix e: <http://e.example/> . # a comment
			e:a a e:Action ; e:label "an \"a\""@en ; e:within e:b, <http://f.example/c> ; .`,
		"base, long text": "BASE <http://e.example/>\nPREFIX : <http://e.example/>\n<a> a :Action; :label '''an \"a\"'''@EN; <within> <b> , <http://f.example/c>.",
		"escapes": `@prefix e: <http://e.example/> .
			e:\u0061 a e:Action .`,
		"json-ld": `{"@context":{"e":"http://e.example/","within":{"@id":"e:within","@type":"@id"}},"@graph":[
			{"@id":"e:a","@type":"e:Action","e:label":{"@value":"an \"a\"","@language":"en"},"within":["e:b","http://f.example/c"]}]}`,
		"expanded": `[{"@id":"http://e.example/a","@type":["http://e.example/Action"],
			"http://e.example/label":[{"@value":"an \"a\"","@language":"en"}],
			"http://e.example/within":[{"@id":"http://e.example/b"},{"@id":"http://f.example/c"}]}]`,
	} {
		list, err := triples.Read([]byte(doc))
		if name == "escapes" { // a name cannot contain this escape
			if err == nil {
				t.Error("a name with \\u was read")
			}
			continue
		}
		if err != nil || written(list) != statements {
			t.Errorf("%s: %v\n%s", name, err, written(list))
		}
	}
}

func TestTurtleSyntax(t *testing.T) {
	for doc, want := range map[string]string{
		`<x:a> <x:p> 1 , -2.5, 1e3, true .`:           `x:a x:p "1" x:a x:p "-2.5" x:a x:p "1e3" x:a x:p "true"`,
		`<x:a> <x:p> [ <x:q> <x:b> ] .`:               `_:.1 x:q x:b x:a x:p _:.1`,
		`[ <x:q> <x:b> ] .`:                           `_:.1 x:q x:b`,
		`_:n <x:p> _:m.`:                              `_:n x:p _:m`,
		`<x:a> <x:p> "5"^^<x:int> .`:                  `x:a x:p "5"`,
		`<x:a> <x:p> ( <x:b> ) .`:                     `_:.1 RDFfirst x:b _:.1 RDFrest RDFnil x:a x:p _:.1`,
		"@prefix e: <x:y/> .\ne:v1.2 <x:p> e:a\\,b .": `x:y/v1.2 x:p x:y/a,b`,
		`<x:a> <x:p> "\u00e9\n" .`:                    `x:a x:p "é\n"`,
		"<x:a> <x:p> \"\"\"two\nlines\"\" \"\"\" .  ": `x:a x:p "two\nlines\"\" "`,
	} {
		list, err := triples.Read([]byte(doc))
		got := strings.ReplaceAll(strings.Join(strings.Fields(written(list)), " "), "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "RDF")
		if err != nil || got != strings.Join(strings.Fields(want), " ") {
			t.Errorf("%s: %v\n got %s\nwant %s", doc, err, got, want)
		}
	}
}

// Read returns no statements with an error.
func TestReadErrors(t *testing.T) {
	for doc, why := range map[string]string{
		"<x:a> <x:p>":                          "line 1: it ends",
		"<x:a> <x:p> <x:b>\n<x:c> <x:p> <x:d>": "line 2",
		"<a> <x:p> <x:b> .":                    "not an absolute IRI",
		"e:a <x:p> <x:b> .":                    `prefix "e" is not declared`,
		`<x:a> <x:p> "open .`:                  "no closing",
		`<x:a> <x:p> "open\`:                   "no closing",
		`"a" <x:p> <x:b> .`:                    "cannot be a subject",
		`<x:a> _:p <x:b> .`:                    "predicate",
		`<x:a> <x:p> ` + strings.Repeat("[<x:p> ", 40) + strings.Repeat("]", 40) + ".": "is nested more",
		`{"@context":"https://e.example/c.jsonld"}`:                                    "not fetched",
		`{"@id":"relative","@type":"x:T"}`:                                             "absolute",
		`{"@id":"x:a","x:p":[[1]]}`:                                                    "list within",
		`{"@id":"x:a","x:p":{"@id":"x:b"},}`:                                           "",
		strings.Repeat("<x:a> <x:p> 1 .\n", triples.MaxTriples+1):                      "more than 100000",
		strings.Repeat(" ", triples.MaxDocument+1):                                     "at most",
		"\xff": "UTF-8",
	} {
		list, err := triples.Read([]byte(doc))
		if !errors.Is(err, triples.ErrVocabulary) || list != nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%.60s: %v, want %q", doc, err, why)
		}
	}
}

// For any input, Read returns, and all names in the result are absolute.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"@prefix e: <http://e.example/> .\ne:a a e:B ; e:p ( 1 \"x\"@en [ e:q e:r ] ) .", `{"@id":"x:a","@type":"x:B"}`, `<a> "\u00`,
		"<x:a> <x:p> '''a''''.",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		list, err := triples.Read(doc)
		if err != nil && list != nil {
			t.Error("got statements and an error")
		}
		for _, x := range list {
			if !strings.Contains(x.Subject, ":") || !strings.Contains(x.Predicate, ":") ||
				!x.Object.Literal && !strings.Contains(x.Object.Value, ":") {
				t.Errorf("got %+v", x)
			}
		}
	})
}
