package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/intents/finding"
)

// The library must accept a parameter in the operator's document that combines schemas or has a default value.
func TestConfirm(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		strict bool
		plain  bool
		schema map[string]any
		value  any    // of the default; nil: no default
		found  string // in the problem; empty: no problem
	}{
		{"both agree", true, false, map[string]any{"anyOf": []any{map[string]any{"type": "string"}}}, "x", ""},
		{"invalid schema", true, false, map[string]any{"anyOf": []any{map[string]any{"type": "text"}}}, nil, "not a valid JSON Schema 2020-12"},
		{"invalid default", true, true, map[string]any{"type": "integer"}, json.Number("1.5"), "the default violates"},
		{"plain schema without default", true, true, map[string]any{"type": "text"}, nil, ""},
		{"lenient", false, false, map[string]any{"anyOf": []any{map[string]any{"type": "text"}}}, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := finding.List{Strict: tt.strict}
			s := &Schema{check: &check{plain: tt.plain}, source: tt.schema}
			s.Confirm(&b, "/here", tt.value, tt.value != nil)
			switch {
			case tt.found == "" && len(b.Problems) > 0,
				tt.found != "" && (len(b.Problems) != 1 || !strings.Contains(b.Problems[0].Message, tt.found)):
				t.Errorf("%v, want %q", b.Problems, tt.found)
			}
		})
	}
}
