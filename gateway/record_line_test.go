package gateway_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/odrl"
)

// AppendJSON lists the members itself. The test compares its output with the tags of the struct, which reading uses.
func TestLineRoundTrip(t *testing.T) {
	type tagged record.Line // without the methods
	full := record.Line{}
	v := reflect.ValueOf(&full).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case time.Time:
			f.Set(reflect.ValueOf(time.Unix(1_700_000_000, 1_000).UTC()))
		case map[string]any:
			f.Set(reflect.ValueOf(map[string]any{"b": "<x>", "a": 1, "c": []string{"é"}}))
		case []string:
			f.Set(reflect.ValueOf([]string{"one", v.Type().Field(i).Name}))
		case *odrl.Reproduction:
			f.Set(reflect.ValueOf(&odrl.Reproduction{DutyMode: odrl.DutiesNotViolated}))
		case *record.StopLine:
			f.Set(reflect.ValueOf(&record.StopLine{Kind: "agent", Subject: "agent-1", By: "ann", Why: "<x>"}))
		case *record.ChangeLine:
			f.Set(reflect.ValueOf(&record.ChangeLine{
				By: "ann", Role: "admin", Via: "link", Did: "POST /reload", Subject: "<x>", Address: "::1", Failed: "INTERNAL_ERROR",
				Detail: map[string]string{"state": "released", "amount": "<1>"},
			}))
		case *record.SigningLine:
			f.Set(reflect.ValueOf(&record.SigningLine{Kind: "message", SHA256: record.Digest{0x02, 0xfd}, Skill: "shop/<x>:1.0.0"}))
		case json.RawMessage:
			f.Set(reflect.ValueOf(json.RawMessage(`{"p":"q"}`)))
		case record.Digest:
			f.Set(reflect.ValueOf(record.Digest{0x01, 0xfe}))
		case bool:
			f.SetBool(true)
		default:
			f.SetString("of " + v.Type().Field(i).Name)
		}
	}
	for name, line := range map[string]record.Line{"full": full, "empty": {}} {
		want, err := json.Marshal(tagged(line))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := line.AppendJSON(nil); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, want)
		}
	}
}

func TestDigestRoundTrip(t *testing.T) {
	line := record.Line{ParametersSHA256: record.Digest{0x01, 31: 0xfe}}
	text, err := line.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	var again record.Line
	if err := json.Unmarshal(text, &again); err != nil || again.ParametersSHA256 != line.ParametersSHA256 {
		t.Errorf("%s: %v, %v; want %v, nil", text, again.ParametersSHA256, err, line.ParametersSHA256)
	}
	for _, wrong := range []string{"", "01", strings.Repeat("0", 66), strings.Repeat("x", 64)} {
		if json.Unmarshal([]byte(`{"parameters_sha256": "`+wrong+`"}`), &again) == nil {
			t.Errorf("%q is a digest", wrong)
		}
	}
}
