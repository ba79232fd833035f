package strictjson_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
)

func TestWriterMatchesTheLibrary(t *testing.T) {
	type inner struct {
		A string `json:"a"`
	}
	type record struct {
		Text  string          `json:"te<t"`
		Empty string          `json:"empty,omitempty"`
		Given string          `json:"given,omitempty"`
		Off   bool            `json:"off,omitempty"`
		On    bool            `json:"on,omitempty"`
		None  []string        `json:"none,omitempty"`
		List  []string        `json:"list,omitempty"`
		At    time.Time       `json:"at"`
		Map   map[string]any  `json:"map,omitempty"`
		Other map[string]any  `json:"other,omitempty"`
		No    map[string]any  `json:"no,omitempty"`
		Raw   json.RawMessage `json:"raw,omitempty"`
		NoRaw json.RawMessage `json:"noraw,omitempty"`
		Inner inner           `json:"inner"`
	}
	r := record{
		Text: "<&>\u2028é\x00\\\"", Given: "x", On: true, List: []string{"a", "<b>"}, At: time.Unix(1, 5000).UTC(),
		Map:   map[string]any{"n": json.Number("1.50"), "l": []any{nil, true}, "a": "2"},
		Other: map[string]any{"int": 1}, Raw: json.RawMessage(`{"x":1}`), Inner: inner{"y"},
	}
	want, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	w := strictjson.NewWriter([]byte("before "))
	w.Text("te<t", r.Text)
	w.Optional("empty", r.Empty)
	w.Optional("given", r.Given)
	w.True("off", r.Off)
	w.True("on", r.On)
	w.Texts("none", r.None)
	w.Texts("list", r.List)
	w.Time("at", r.At)
	w.Object("map", r.Map)
	w.Object("other", r.Other)
	w.Object("no", r.No)
	w.JSON("raw", r.Raw)
	w.JSON("noraw", r.NoRaw)
	w.Append("inner", func(out []byte) ([]byte, error) {
		w := strictjson.NewWriter(out)
		w.Text("a", r.Inner.A)
		return w.End()
	})
	if got, err := w.End(); err != nil || string(got) != "before "+string(want) {
		t.Errorf("%v\n got %s\nwant before %s", err, got, want)
	}
}

func TestWriterReportsInvalidJSON(t *testing.T) {
	w := strictjson.NewWriter(nil)
	w.Object("a", map[string]any{"b": make(chan int)})
	w.Object("b", map[string]any{"c": func() {}})
	w.Text("d", "e")
	if _, err := w.End(); err == nil || !strings.Contains(err.Error(), "chan int") {
		t.Errorf("got %v, want an error that contains %q", err, "chan int")
	}
}
