package openapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/intents/openapi"
)

func TestSimilarFindingsAreGrouped(t *testing.T) {
	all := []openapi.Finding{
		{"GET /a", `the header "X-A" is not sent`},
		{"", "of 2 servers, the gateway calls the first"},
		{"GET /a", "its optional body is not sent"},
		{"GET /b", "its optional body is not sent"},
		{"GET /c", `the header "X-C" is not sent`},
		{"GET /d", "its optional body is not sent"},
		{"GET /c", `the header "X-D" is not sent`},
		{"GET /e", `it needs "x" and "y"`},
		{"GET /f", `it needs "x" and "z"`},
		{"", "of 2 servers, the gateway calls the first"},
		{"GET /g", "alone"},
	}
	var got []string
	for _, g := range openapi.Groups(all) {
		got = append(got, g.Line(2))
	}
	want := []string{
		`the header "…" is not sent: 2 operations: GET /a ("X-A"), GET /c ("X-C", "X-D")`,
		"its optional body is not sent: 3 operations: GET /a, GET /b, and 1 more",
		`it needs "x" and "…": 2 operations: GET /e ("y"), GET /f ("z")`,
		"of 2 servers, the gateway calls the first",
		"of 2 servers, the gateway calls the first",
		"GET /g: alone",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

// A document like large published ones, where each operation has one parameter in a form that needs a note.
func TestReadmeGroupsFindings(t *testing.T) {
	var b strings.Builder
	b.WriteString("openapi: 3.0.0\nservers: [{url: 'https://s.example'}]\npaths:\n")
	for i := range 190 {
		fmt.Fprintf(&b, "  /p%d: {get: {parameters: [{name: opt_fields, in: query, explode: false, schema: {type: array, items: {}}}]}}\n", i)
	}
	for i := range 600 {
		fmt.Fprintf(&b, "  /q%d: {post: {requestBody: {content: {application/xml: {}}}}}\n", i)
	}
	found := convert(t, []byte(b.String()), openapi.Options{})
	readme := string(update(t, found, nil).Write[openapi.ReadmeFile])
	if n := strings.Count(readme, "separators between them"); n != 1 || !strings.Contains(readme, "between them: 190 operations\n  - `GET /p0`\n") {
		t.Errorf("%d lines with the same text, want 1", n)
	}
	if !strings.Contains(readme, "URL-encoded forms: 600 operations\n") || !strings.Contains(readme, "  - and 100 more\n") ||
		strings.Count(readme, "  - `POST /q") != 500 {
		t.Error("the list is not bounded, or lacks the number of omitted entries")
	}
}
