package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/intents/finding"
)

// What the operator wrote has to pass the library too, if it combines schemas or has a default.
func TestTheLibraryHasTheLastWordOnTheOperatorsSchemas(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		strict bool
		plain  bool
		schema map[string]any
		value  any    // of the default; nil: none
		found  string // in the problem; empty: there is none
	}{
		{"both agree", true, false, map[string]any{"anyOf": []any{map[string]any{"type": "string"}}}, "x", ""},
		{"no schema to the library", true, false, map[string]any{"anyOf": []any{map[string]any{"type": "text"}}}, nil, "not a valid JSON Schema 2020-12"},
		{"no default to the library", true, true, map[string]any{"type": "integer"}, json.Number("1.5"), "the default breaks"},
		{"a leaf, which was checked keyword by keyword", true, true, map[string]any{"type": "text"}, nil, ""},
		{"a document of somebody else", false, false, map[string]any{"anyOf": []any{map[string]any{"type": "text"}}}, nil, ""},
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
