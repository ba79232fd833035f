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

var update = flag.Bool("update", false, "write docs/reference/errors.md anew")

func TestEveryReasonOfAgentsIsExplained(t *testing.T) {
	operators := map[reason.Reason]bool{
		reason.HostNotAllowed: true, reason.NoSuchRecord: true, reason.UnknownService: true, reason.ServiceMissing: true,
		reason.AlreadySettled: true, reason.ReferenceUsed: true, reason.PeriodForgotten: true, reason.EvidenceInvalid: true,
		reason.ConfigRefused: true, reason.NotOffered: true,
	}
	for _, r := range reason.All() {
		if r.ForOperators() != operators[r] || (r.Help() == "") != operators[r] {
			t.Errorf("%s: for operators %v, help %q", r, r.ForOperators(), r.Help())
		}
	}
}

// TestDocsErrorsIsTheTable holds docs/reference/errors.md to the table; make generate writes it.
func TestDocsErrorsIsTheTable(t *testing.T) {
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
		t.Errorf("docs/reference/errors.md is not what the table says (-want +got; make generate):\n%s", diff)
	}
}

func catalogue() string {
	var b strings.Builder
	b.WriteString(`# Errors

Every answer that is an error has one form, whatever went wrong:

` + "```" + `json
{"error": {"code": "INVALID_PARAMETER", "message": "…", "details": {
  "reason": "PARAMETER_OUT_OF_RANGE", "uim_code": "UIM-VAL-008", "suggestion": "…",
  "request_id": "…", "help_url": "https://shop.example/errors/PARAMETER_OUT_OF_RANGE",
  "violations": [{"pointer": "/parameters/max_price", "keyword": "minimum", "reason": "PARAMETER_OUT_OF_RANGE",
    "limit": 0, "message": "…"}]}}}
` + "```" + `

` + "`code`" + ` is the kind of failure, ` + "`details.reason`" + ` its exact cause: the headings of this page. A gateway
serves the same at ` + "`/errors`" + ` and, for each reason, at the address in ` + "`details.help_url`" + `.
Pointers (RFC 6901) lead into the whole body that was sent. This page is generated from the table that the gateway answers by.
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
	b.WriteString("\n# Errors of the admin API alone\n")
	status = 0
	for _, r := range operators {
		write(r)
	}
	return b.String()
}
