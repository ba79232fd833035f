package pat

import (
	"strings"
	"testing"
)

func TestDeclaredIsBounded(t *testing.T) {
	many, long := map[string]any{}, map[string]any{}
	for _, c := range "abcdefghijklmnopq" {
		many[string(c)] = "x"
	}
	for _, c := range "abcdefghijk" {
		long[string(c)] = strings.Repeat("x", 200)
	}
	for name, test := range map[string]struct {
		declared any
		ok       bool
	}{
		"a text":             {map[string]any{"purpose": "research"}, true},
		"several texts":      {map[string]any{"purpose": []any{"research", "teaching"}}, true},
		"beyond ASCII":       {map[string]any{"purpose": "研究"}, true},
		"nothing":            {map[string]any{}, true},
		"not an object":      {"research", false},
		"a number":           {map[string]any{"purpose": 1.0}, false},
		"an empty text":      {map[string]any{"purpose": ""}, false},
		"an empty list":      {map[string]any{"purpose": []any{}}, false},
		"an object":          {map[string]any{"purpose": map[string]any{}}, false},
		"a name with spaces": {map[string]any{"my purpose": "x"}, false},
		"control character":  {map[string]any{"purpose": "a\nb"}, false},
		"a long text":        {map[string]any{"purpose": strings.Repeat("x", 201)}, false},
		"many names":         {many, false},
		"too large in total": {long, false},
	} {
		d, err := readDeclared(test.declared, true)
		if (err == nil) != test.ok {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
	if d, err := readDeclared(nil, false); d != nil || err != nil {
		t.Errorf("left out: %v, %v; want nil, nil", d, err)
	}
}
