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

func TestRefusalsInWords(t *testing.T) {
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
			"The limit is used up. Wait 12 seconds.", "The limit is used up. Try again in 12 seconds.",
		},
		"one second": {
			reason.Overloaded.Refusal("Full.").After(time.Second),
			"Full. Nothing was done or charged. Try again in 1 second.", "Full. Try again in 1 second.",
		},
		"no seconds": {reason.Overloaded.Refusal("Full."), "Full. Nothing was done or charged. Try again later.", "Full."},
		"one violation": {
			refusal.InvalidParameters("/arguments", violations[:1]),
			`The parameter at /arguments/a does not fit the intent: the parameter "a" is required. Send the parameters that the message names.`,
			`The parameter at /arguments/a does not fit the intent: the parameter "a" is required.`,
		},
		"violations": {
			refusal.InvalidParameters("", violations),
			`The parameters do not fit the intent. At /a: the parameter "a" is required. At /b: must be of type "string". ` +
				`Send the parameters that the message names.`,
			`The parameters do not fit the intent. At /a: the parameter "a" is required. At /b: must be of type "string".`,
		},
		"misplaced": {
			refusal.MisplacedParameters(violations[:1]),
			`The parameter at /a does not fit the intent: the parameter "a" is required. Move what the message names into parameters.`,
			`The parameter at /a does not fit the intent: the parameter "a" is required.`,
		},
		"a pointer": {
			reason.InvalidParameter.Refusal("No.").With("pointer", "/scope"), "No. At /scope. Correct what the message names.", "No. At /scope.",
		},
		"the words of the service": {
			rejected, `The service rejected the call. Message of the service: "sold out". The service itself refused the call; its message has the reason.`,
			`The service rejected the call. Message of the service: "sold out".`,
		},
		"an outcome": {
			reason.UpstreamError.Refusal("").With("outcome", "unknown"),
			"The service behind failed. Whether the call took effect: unknown.", "The service behind failed.",
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
	if strings.Count(got, " At /") != 5 || !strings.Contains(got, " And 3 more.") {
		t.Errorf("of 8 violations: %s", got)
	}
	text, err := json.Marshal(rejected.Details) // as it is kept for repeated calls
	if err != nil {
		t.Fatal(err)
	}
	again := reason.UpstreamRejected.Refusal("")
	if again.Details, err = strictjson.DecodeObject(text); err != nil || refusal.Sentence(again) != refusal.Sentence(rejected) {
		t.Errorf("repeated: %s, %v", refusal.Sentence(again), err)
	}
}

// Whoever reads a sentence sees neither header fields nor details.
func TestSentencesPointAtNothingUnseen(t *testing.T) {
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
