package reason_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/internal/reason"
)

var update = flag.Bool("update", false, "rewrite docs/reference/errors.md")

func TestEveryAgentReasonHasHelp(t *testing.T) {
	operators := map[reason.Reason]bool{
		reason.HostNotAllowed: true, reason.NoSuchRecord: true, reason.UnknownService: true, reason.ServiceMissing: true,
		reason.AlreadySettled: true, reason.ReferenceUsed: true, reason.PeriodForgotten: true, reason.EvidenceInvalid: true,
		reason.ConfigRefused: true, reason.NotOffered: true, reason.PolicyNotSaved: true,
	}
	for _, r := range reason.All() {
		if r.ForOperators() != operators[r] || (r.Help() == "") != operators[r] {
			t.Errorf("%s: for operators %v, help %q", r, r.ForOperators(), r.Help())
		}
	}
}

// TestDocsErrorsMatchTable compares docs/reference/errors.md with the table; make generate writes the file.
func TestDocsErrorsMatchTable(t *testing.T) {
	name := filepath.Join(root, "docs", "reference", "errors.md")
	want := catalogue()
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/reference/errors.md does not match the table: run make generate (-want +got):\n%s", diff)
	}
}

func catalogue() string {
	var b strings.Builder
	b.WriteString(`# Errors

For developers of agents, and for operators. All error responses have the same format:

` + "```" + `json
{"error": {"code": "INVALID_PARAMETER", "message": "…", "details": {
  "reason": "PARAMETER_OUT_OF_RANGE", "uim_code": "UIM-VAL-008", "suggestion": "…",
  "request_id": "…", "help_url": "https://shop.example/errors/PARAMETER_OUT_OF_RANGE",
  "violations": [{"pointer": "/parameters/max_price", "keyword": "minimum", "reason": "PARAMETER_OUT_OF_RANGE",
    "limit": 0, "message": "…"}]}}}
` + "```" + `

` + "`code`" + ` is the category of the error, and ` + "`details.reason`" + ` is its exact cause. The headings of this page are
the reasons. A gateway serves this page at ` + "`/errors`" + `, and the section for a reason at the address in ` + "`details.help_url`" + `.
Pointers (RFC 6901) refer to the whole body of the request. This page is generated from the table that the gateway uses.
`)
	status := 0
	write := func(r reason.Reason) {
		if r.Status() != status {
			status = r.Status()
			fmt.Fprintf(&b, "\n## %d %s\n", status, http.StatusText(status))
		}
		number := ""
		if r.Number() != "" {
			number = ", " + r.Number()
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s%s. %s\n\n", r, r.Code(), number, r.Message())
		if help := r.Help(); help != "" {
			b.WriteString(help + "\n\n")
		}
		b.WriteString("*" + r.Suggestion() + "*\n")
	}
	var operators []reason.Reason
	for _, r := range reason.All() {
		if r.ForOperators() {
			operators = append(operators, r)
			continue
		}
		write(r)
	}
	b.WriteString("\n# Errors of the admin API\n")
	status = 0
	for _, r := range operators {
		write(r)
	}
	return b.String()
}
