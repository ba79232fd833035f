package cases

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/yamlconf"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// Expectation is the expected result of a case. A field that is not set may have any value.
type Expectation struct {
	Decision string           `yaml:"decision" required:"true" enum:"permit,deny" doc:"permit or deny"`
	Code     yamlconf.Tree    `yaml:"code" doc:"the reason for a denial; null for none"`
	Rule     yamlconf.Tree    `yaml:"rule" doc:"the rule that decided: its uid, or its JSON pointer; null for none"`
	Limits   []ExpectedLimit  `yaml:"limits" doc:"all limits of the winning rule, in any order"`
	Charges  []ExpectedCharge `yaml:"charges" doc:"all charges of the winning rule, in any order"`
	Duties   []ExpectedDuty   `yaml:"duties" doc:"all duties of the winning rule, in any order"`
}

// An ExpectedLimit is one limit of a result.
type ExpectedLimit struct {
	Max      yamlconf.Tree `yaml:"max" doc:"the number of calls"`
	PeriodS  yamlconf.Tree `yaml:"period_s" doc:"the period in seconds; null for a calendar period or a lifetime limit"`
	Calendar yamlconf.Tree `yaml:"calendar" doc:"month or year"`
	Key      yamlconf.Tree `yaml:"key" doc:"the id of the counter"`
}

// An ExpectedCharge is one charge of a result.
type ExpectedCharge struct {
	Amount   yamlconf.Tree `yaml:"amount" doc:"a decimal"`
	Currency yamlconf.Tree `yaml:"currency" doc:"ISO 4217"`
	Rule     yamlconf.Tree `yaml:"rule" doc:"the duty that requires it"`
}

// An ExpectedDuty is one duty of a result.
type ExpectedDuty struct {
	Rule   yamlconf.Tree `yaml:"rule" doc:"the duty: its uid, or its JSON pointer"`
	Action yamlconf.Tree `yaml:"action" doc:"the action to perform"`
	Of     yamlconf.Tree `yaml:"of" doc:"the rule whose duty, remedy or consequence it is"`
	Target yamlconf.Tree `yaml:"target" doc:"the asset of the action"`
	Party  yamlconf.Tree `yaml:"party" doc:"the party that owes it"`
}

// Wanted returns the expectation as a JSON object with only the keys that are set.
func (e *Expectation) Wanted() map[string]any {
	out := map[string]any{"decision": e.Decision}
	for key, t := range map[string]yamlconf.Tree{"code": e.Code, "rule": e.Rule} {
		if t.Set {
			out[key] = t.Value
		}
	}
	list(out, "limits", e.Limits)
	list(out, "charges", e.Charges)
	list(out, "duties", e.Duties)
	return out
}

// list adds items to object under key, unless items is nil.
func list[T any](object map[string]any, key string, items []T) {
	if items == nil {
		return
	}
	objects := make([]any, 0, len(items))
	for _, item := range items {
		objects = append(objects, setKeys(reflect.ValueOf(item)))
	}
	object[key] = objects
}

// setKeys returns the Trees of a struct that are set, as a JSON object.
func setKeys(v reflect.Value) map[string]any {
	out := map[string]any{}
	for key, f := range yamlconf.Fields(v.Type()) {
		if t, ok := reflect.TypeAssert[yamlconf.Tree](v.FieldByIndex(f.Index)); ok && t.Set {
			out[key] = t.Value
		}
	}
	return out
}

// A Difference is one difference between a result and its expectation. Want and Got are texts for people.
type Difference struct {
	Key  string `json:"key"` // decision, code, rule, limits, charges or duties
	Want string `json:"want"`
	Got  string `json:"got"`
	Line int    `json:"line"` // line of the expectation; 0 if unknown
}

// differences compares the JSON form of an evaluation with want. Keys that are not in want may have any value. Lists may be in any order,
// and their entries are compared only by the keys that want has. null means that a key must be absent. Numbers are compared by value.
func differences(e odrl.Evaluation, want map[string]any) ([]Difference, error) {
	raw, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encoding the evaluation: %w", err)
	}
	got, err := strictjson.DecodeObject(raw)
	if err != nil {
		return nil, fmt.Errorf("decoding the evaluation: %w", err)
	}
	var out []Difference
	for _, key := range []string{"decision", "code", "rule", "limits", "charges", "duties"} {
		wanted, ok := want[key]
		if !ok || sameValue(wanted, got[key]) {
			continue
		}
		out = append(out, Difference{Key: key, Want: shownValue(wanted, wanted), Got: shownValue(got[key], wanted)})
	}
	return out, nil
}

// sameValue reports whether got matches want; see differences.
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

// sameList reports whether each entry of want matches a different entry of got. Entries with the most keys are matched first, and each
// takes the first match.
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

// shownValue formats a value for a Difference. It shows the keys of an object that like has, or all keys if like has none.
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
			if _, ok := keys[k]; ok || len(keys) == 0 {
				parts = append(parts, k+" "+shownValue(v[k], nil))
			}
		}
		return strings.Join(parts, ", ")
	default:
		return model.ScalarText(v)
	}
}
