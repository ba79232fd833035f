package odrl

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// A Difference is one way in which an answer is not what was expected. Want and Got are for reading.
type Difference struct {
	Key  string `json:"key"` // decision, code, rule, limits, charges or duties
	Want string `json:"want"`
	Got  string `json:"got"`
}

// Differences compares the evaluation, as its JSON has it, with the keys of want; other keys may be
// anything. The lists may stand in any order, and of their entries too only the keys that are wanted
// count. null stands for a key that must not be there. Numbers are compared by value.
func (e Evaluation) Differences(want map[string]any) ([]Difference, error) {
	raw, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("writing the evaluation: %w", err)
	}
	got, err := strictjson.DecodeObject(raw)
	if err != nil {
		return nil, fmt.Errorf("reading the evaluation: %w", err)
	}
	var out []Difference
	for _, key := range []string{"decision", "code", "rule", "limits", "charges", "duties"} {
		wanted, ok := want[key]
		if !ok || sameValue(wanted, got[key]) {
			continue
		}
		out = append(out, Difference{key, shownValue(wanted, wanted), shownValue(got[key], wanted)})
	}
	return out, nil
}

// sameValue reports whether got is what was wanted.
func sameValue(want, got any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		for key, value := range want {
			ok = ok && sameValue(value, object[key])
		}
		return ok
	case []any:
		list, ok := got.([]any)
		return ok && len(list) == len(want) && sameList(want, slices.Clone(list))
	case nil:
		return got == nil
	}
	return sameText(model.ScalarText(want), model.ScalarText(got))
}

// sameList finds for each entry that is wanted one of its own. Few enough entries stand in such a list to
// try them in turn; of entries that fit several, those with more keys choose first.
func sameList(want, got []any) bool {
	want = slices.Clone(want)
	slices.SortStableFunc(want, func(a, b any) int { return keysIn(b) - keysIn(a) })
	for _, w := range want {
		i := slices.IndexFunc(got, func(g any) bool { return sameValue(w, g) })
		if i < 0 {
			return false
		}
		got = slices.Delete(got, i, i+1)
	}
	return true
}

func keysIn(v any) int {
	m, _ := v.(map[string]any)
	return len(m)
}

func sameText(a, b string) bool {
	if a == b {
		return true
	}
	x, ok := model.ParseDecimal(a)
	y, ok2 := model.ParseDecimal(b)
	return ok && ok2 && x.Cmp(y) == 0
}

// shownValue words a value for a difference. Of objects it shows the keys that like has, or all.
func shownValue(v, like any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case []any:
		if len(v) == 0 {
			return "none"
		}
		wanted, _ := like.([]any)
		keys := map[string]any{}
		for _, w := range wanted {
			if m, ok := w.(map[string]any); ok {
				for k := range m {
					keys[k] = nil
				}
			}
		}
		list := make([]string, 0, len(v))
		for _, item := range v {
			list = append(list, shownValue(item, keys))
		}
		return strings.Join(list, "; ")
	case map[string]any:
		keys, _ := like.(map[string]any)
		var parts []string
		for _, k := range model.SortedKeys(v) {
			if _, asked := keys[k]; asked || len(keys) == 0 {
				parts = append(parts, k+" "+shownValue(v[k], nil))
			}
		}
		return strings.Join(parts, ", ")
	default:
		return model.ScalarText(v)
	}
}
