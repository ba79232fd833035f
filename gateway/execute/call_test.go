package execute_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/reason"
)

func TestParseIdempotencyKey(t *testing.T) {
	for key, good := range map[string]bool{
		"k": true, "!~": true, strings.Repeat("k", 128): true, "": false, strings.Repeat("k", 129): false, "a b": false, "a\x7f": false,
		"ä": false, "a\n": false,
	} {
		got, err := execute.ParseIdempotencyKey(key)
		if f, refused := errors.AsType[*reason.Refusal](err); good != (err == nil) || refused && f.Reason != reason.MalformedRequest {
			t.Errorf("%q: got %v, want accepted %v", key, err, good)
		}
		if good && string(got) != key || !good && got != "" {
			t.Errorf("%q: got %q", key, got)
		}
	}
}

func TestRequestIDFrom(t *testing.T) {
	for sent, kept := range map[string]bool{
		"r-1": true, "A.b_C-9": true, strings.Repeat("r", 64): true, "": false, strings.Repeat("r", 65): false, "a b": false, "a/b": false,
		"ä": false,
	} {
		if got := execute.RequestIDFrom(sent); (string(got) == sent) != kept || got == "" || len(got) > 64 {
			t.Errorf("%q: got %q, want it kept %v", sent, got, kept)
		}
	}
}
