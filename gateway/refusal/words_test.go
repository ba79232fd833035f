package refusal_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/intents/schema"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

func TestRefusalTexts(t *testing.T) {
	violations := []schema.Violation{
		{Pointer: "/a", Reason: reason.MissingParameter, Message: `the parameter "a" is required`},
		{Pointer: "/b", Reason: reason.InvalidParameter, Message: `must be of type "string"`},
	}
	many := violations
	for range 3 {
		many = append(many, violations...)
	}
	rejected := refusal.For(&upstream.RejectedError{Code: "CONFLICT", Status: 409, Message: "sold out"})
	for name, tt := range map[string]struct {
		of                *reason.Refusal
		sentence, message string
	}{
		"seconds": {
			reason.RateLimitExceeded.Refusal("").After(11500 * time.Millisecond),
			"The limit is exhausted. Wait 12 seconds.", "The limit is exhausted. Try again in 12 seconds.",
		},
		"one second": {
			reason.Overloaded.Refusal("Full.").After(time.Second),
			"Full. Nothing was done or charged. Try again in 1 second.", "Full. Try again in 1 second.",
		},
		"no seconds": {reason.Overloaded.Refusal("Full."), "Full. Nothing was done or charged. Try again later.", "Full."},
		"one violation": {
			refusal.InvalidParameters("/arguments", violations[:1]),
			`The parameter at /arguments/a is not valid for this intent: the parameter "a" is required. Add the parameters that the message names.`,
			`The parameter at /arguments/a is not valid for this intent: the parameter "a" is required.`,
		},
		"violations": {
			refusal.InvalidParameters("", violations),
			`The parameters are not valid for this intent. At /a: the parameter "a" is required. At /b: must be of type "string". ` +
				`Add the parameters that the message names.`,
			`The parameters are not valid for this intent. At /a: the parameter "a" is required. At /b: must be of type "string".`,
		},
		"misplaced": {
			refusal.MisplacedParameters(violations[:1]),
			`The parameter at /a is not valid for this intent: the parameter "a" is required. Move the members that the message names into the parameters object.`,
			`The parameter at /a is not valid for this intent: the parameter "a" is required.`,
		},
		"a pointer": {
			reason.InvalidParameter.Refusal("No.").With("pointer", "/scope"), "No. At /scope. Correct the problem that the message describes.", "No. At /scope.",
		},
		"the words of the service": {
			rejected, `The service behind the gateway rejected the call. Message of the service: "sold out". If the service states a reason, correct the call accordingly.`,
			`The service behind the gateway rejected the call. Message of the service: "sold out".`,
		},
		"an outcome": {
			reason.UpstreamError.Refusal("").With("outcome", "unknown"),
			"The service behind the gateway failed. The outcome of the call is unknown. If it is unknown, repeat the same request with the same Idempotency-Key, and never with a new one; an intent that only reads can be called again.", "The service behind the gateway failed.",
		},
		"versions": {
			reason.VersionConflict.Refusal("No.").With("versions", []string{"v1", "v2"}), "No. Use one of these versions: v1, v2.", "No.",
		},
		"no successor": {reason.IntentDeprecated.Refusal("Gone."), "Gone.", "Gone."},
	} {
		if got := refusal.Sentence(tt.of); got != tt.sentence {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, tt.sentence)
		}
		if got := refusal.InMessage(tt.of).Message; got != tt.message {
			t.Errorf("%s, in a message:\ngot  %s\nwant %s", name, got, tt.message)
		}
	}
	got := refusal.Sentence(refusal.InvalidParameters("", many))
	if strings.Count(got, " At /") != 5 || !strings.Contains(got, " There are 3 more violations.") {
		t.Errorf("of 8 violations: %s", got)
	}
	text, err := json.Marshal(rejected.Details) // as the store keeps it for replays
	if err != nil {
		t.Fatal(err)
	}
	again := reason.UpstreamRejected.Refusal("")
	if again.Details, err = strictjson.DecodeObject(text); err != nil || refusal.Sentence(again) != refusal.Sentence(rejected) {
		t.Errorf("repeated: %s, %v", refusal.Sentence(again), err)
	}
}

func TestSentencesOmitDetailsAndHeaders(t *testing.T) {
	violations := []schema.Violation{{Pointer: "/a", Message: "is wrong"}}
	for _, r := range reason.All() {
		for _, f := range []*reason.Refusal{
			r.Refusal(""), r.Refusal("").After(time.Minute), r.Refusal("").With("violations", violations).With("outcome", "failed"),
		} {
			if s := refusal.Sentence(f); !r.ForOperators() && (strings.Contains(s, "details.") || strings.Contains(s, "Retry-After")) {
				t.Errorf("%s: %s", r, s)
			}
		}
	}
}
