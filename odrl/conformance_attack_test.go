package odrl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/odrl"
)

// attackRows has documents that are meant to hang the engine or to be permitted by accident. Each is validated in bounded time, both
// strictly and leniently. A rejected document has no questions.
func attackRows() []row {
	const rule = `"permission":[{"target":"ex:x","action":"use"}]`
	repeat := func(n int, s func(i int) string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = s(i)
		}
		return strings.Join(list, ",")
	}
	nested := one("media", "eq", `"b"`)
	for range 1000 {
		nested = `{"or":[` + one("media", "eq", `"a"`) + `,` + nested + `]}`
	}
	context := func(c string) string {
		return strings.Replace(doc("Set", rule), `{"ex":"http://example.com/"}`, `{"ex":"http://example.com/",`+c+`}`, 1)
	}
	under := func(constraint string) string {
		return doc("Set", `"permission":[{"target":"ex:x","action":"use","constraint":`+constraint+`}]`)
	}
	var list []row
	for _, x := range []struct{ name, says, doc, codes string }{
		{
			"10 MB", "A document of ten megabytes is refused because of its size.",
			doc("Set", rule, `"dc:description":"`+strings.Repeat("x", 10<<20)+`"`), "too-large",
		},
		{
			"10,001 rules", "More than ten thousand rules are refused.",
			doc("Set", `"permission":[`+repeat(10_001, func(int) string { return `{"action":"use"}` })+`]`), "too-large",
		},
		{
			"rules that multiply", "A few rules that expand to too many are refused.",
			doc("Set", `"permission":[{"action":[`+repeat(200, func(int) string { return `"use"` })+`],"target":[`+repeat(200,
				func(i int) string { return fmt.Sprintf(`"ex:%d"`, i) })+`]}]`), "too-large",
		},
		{"nested 1,000 deep", "Constraints that are nested a thousand levels deep are refused.", under(nested), "json too-deep"},
		{
			"parents in a circle", "Inheritance in a circle is refused.",
			graphOf(`{"uid":"ex:a","inheritFrom":"ex:b",`+rule+`}`, `{"uid":"ex:b","inheritFrom":"ex:a",`+rule+`}`), "inherit-cycle",
		},
		{
			"parts in a circle", "Collections that contain one another are refused.",
			graphOf(`{"uid":"ex:a",`+rule+`}`, `{"@id":"ex:x","partOf":"ex:y"}`, `{"@id":"ex:y","partOf":"ex:x"}`), "cycle",
		},
		{
			"constraints in a circle", "Constraints that contain one another are refused.",
			graphOf(`{"uid":"ex:a","permission":[{"target":"ex:x","action":"use","constraint":{"@id":"ex:c"}}]}`,
				`{"@id":"ex:c","or":[{"@id":"ex:c"},`+one("media", "eq", `"a"`)+`]}`), "cycle",
		},
		{
			"prohibition as permission", "A context may not change a permission into a prohibition, or the reverse.",
			context(`"prohibition":"odrl:permission"`), "context",
		},
		{"operator redefined", "A context may not give an operator another meaning.", context(`"lt":"odrl:gt"`), "context"},
		{"odrl redefined", "A context may not give the prefix odrl another meaning.", context(`"odrl":"http://evil.example/"`), "context"},
		{
			"two nodes of one IRI", "Two nodes with one IRI must be equal; otherwise the document is refused.",
			doc("Set", `"permission":[{"uid":"ex:r","target":"ex:x","action":"use"},{"uid":"ex:r","target":"ex:y","action":"sell"}]`), "duplicate",
		},
		{"NaN", "A document that is not JSON is refused.", under(one("percentage", "lt", `NaN`)), "json"},
		{"no UTF-8", "A document that is not UTF-8 is refused.", doc("Set", rule, "\"dc:title\":\"\xff\xfe\""), "json"},
	} {
		list = append(list, row{name: x.name, from: "uimgate", says: x.says, try: func(t *testing.T) string {
			t.Helper()
			for _, lenient := range []bool{false, true} {
				p, problems := odrl.Load(t.Context(), []byte(x.doc), odrl.LoadOptions{Lenient: lenient})
				found := ""
				for _, q := range problems {
					if strings.Contains(" "+x.codes+" ", " "+q.Code+" ") {
						found = q.Code
					}
				}
				if p != nil || found == "" {
					t.Errorf("lenient %v: loaded %v, %v", lenient, p != nil, problems[:min(3, len(problems))])
				}
			}
			return "error `" + strings.ReplaceAll(x.codes, " ", "` or `") + "`"
		}})
	}
	return append(
		list,
		row{
			name: "remote context", from: "uimgate", says: "Another context is not fetched.", fault: "error remote-context /@context/1",
			doc: strings.Replace(doc("Set", rule), `{"ex":"http://example.com/"}`, `"https://evil.example/context"`, 1),
		},
		row{
			name: "remote context, leniently", from: "uimgate", says: "In a lenient reading, a remote context is reported and ignored.",
			lenient: true, fault: "warning remote-context /@context/1",
			doc: strings.ReplaceAll(strings.Replace(doc("Set", rule), `{"ex":"http://example.com/"}`, `"https://evil.example/context"`, 1),
				`"ex:x"`, `"http://example.com/x"`), asks: []query{on("ann use x", ok), on("ann use y", none)},
		},
		row{
			name: "numbers as strings", from: "uimgate", says: "A numeric string is compared as a number, never as a string.",
			doc: under(one("percentage", "lt", `"9"`)), asks: []query{
				on("ann use x", ok).with(`"percentage":"8.99"`),
				on("ann use x", none).with(`"percentage":"10"`), on("ann use x", none).with(`"percentage":"1e1"`),
			},
		},
		row{
			name: "NaN as a string", from: "uimgate", says: "NaN and infinity are not numbers, on either side.",
			fault: "warning datatype /permission/0/constraint/rightOperand", doc: under(one("percentage", "neq", `"NaN"`)),
			asks: []query{on("ann use x", none).with(`"percentage":5`), on("ann use x", none).with(`"percentage":"Infinity"`)},
		},
		row{
			name: "a huge number", from: "uimgate", says: "A string with an extremely large exponent is not a number, and costs no time.", lenient: true,
			doc: under(one("percentage", "lt", `"5"`)), asks: []query{
				on("ann use x", none).with(`"percentage":"1e999999999"`),
				on("ann use x", none).with(`"percentage":"1e-999999999999"`),
			},
		},
		row{
			name: "year 10000", from: "uimgate", says: "A year beyond 9999 is later than today, not earlier.",
			doc:  under(one("dateTime", "lt", `{"@value":"10000-01-01T00:00:00Z","@type":"xsd:dateTime"}`)),
			asks: []query{on("ann use x", ok), on("ann use x", none).at("")},
		},
		row{
			name: "Rego in a string", from: "uimgate", says: "A string that looks like Rego is only a string.",
			doc:  under(one("purpose", "eq", `"x\"; permit := true } permit if { true"`)),
			asks: []query{on("ann use x", none).with(`"purpose":"y"`), on("ann use x", ok).with(`"purpose":"x\"; permit := true } permit if { true"`)},
		},
		row{
			name: "prefixes of one another", from: "uimgate", says: "IRIs are compared as a whole.",
			doc: doc("Set", `"permission":[{"target":"http://example.com/api/intents","action":"use"}]`),
			asks: []query{
				on("ann use http://example.com/api/intents", ok), on("ann use http://example.com/api/intents-admin", none),
				on("ann use http://example.com/api/intents/", none), on("ann use http://example.com/api", none),
				on("ann use http://example.com.evil.org/api/intents", none),
			},
		},
		row{
			name: "partOf in a circle in the world", from: "uimgate", says: "Collections in the state of the world that contain one another do not cause an endless search.",
			doc: doc("Set", `"permission":[{"target":"ex:all","action":"use"}]`),
			asks: []query{
				on("ann use x", ok).in(`"partOf":[{"member":"http://example.com/x","collection":"http://example.com/y"},{"member":"http://example.com/y","collection":"http://example.com/x"},{"member":"http://example.com/y","collection":"http://example.com/all"}]`),
				on("ann use x", none).in(`"partOf":[{"member":"http://example.com/x","collection":"http://example.com/y"},{"member":"http://example.com/y","collection":"http://example.com/x"}]`),
			},
		},
	)
}
