package operatorcmd

import (
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/record"
)

func TestWhyInWords(t *testing.T) {
	t.Parallel()
	w := calls.Why{Explanation: record.Explanation{
		At: time.Date(2026, 11, 28, 14, 3, 0, 0, time.UTC), RequestID: "r-1", Process: "gateway-2:1", Door: "mcp", Agent: "agent\x1b-1",
		Decision: "deny", Rule: "/permission/0", Reason: "RATE_LIMIT_EXCEEDED", Status: 429, Message: "The limit of 1/hour is exhausted.",
		RetryAfter: 90, Found: map[string]any{"spatial": "DE"}, FromParameters: []string{"purpose"},
		Limits: []record.LimitState{{Limit: "1/hour", Resets: 90}}, Charge: "0.25 EUR", ChargeState: "pending", ExecutionID: "e-1",
		Outcome: "unknown", UpstreamMillis: 12, Steps: []record.Step{{Name: "authenticate", Millis: 0.5}, {Name: "begin", Millis: 2}},
	}, Execution: &calls.Execution{State: "released"}}
	var out strings.Builder
	if err := printWhy(&out, &w); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{
		"request   r-1, by mcp\n", "process gateway-2:1", "deny RATE_LIMIT_EXCEEDED, status 429: The limit of 1/hour is exhausted. Retry after 1m30s.\n",
		"rule      /permission/0\n", "found     spatial = \"DE\"\n", "purpose = a value from the parameters, which is not recorded",
		"limit     1/hour, 0 left, resets in 1m30s\n", "charge    0.25 EUR pending, now released, execution e-1\n",
		"outcome   unknown, no response of your API within 12 ms\n", "steps     authenticate 0.5 ms → begin 2 ms\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Error("a control character of the agent's id reached the terminal")
	}
}
