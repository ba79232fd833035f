package admin_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/strictjson"
)

type kind string

type sample struct {
	api.Record `json:"-"`
	api.PageRequest
	Other  string    `json:"-" query:"service,any"`
	Kind   kind      `json:"-" query:"kind" enum:"a,b"`
	Search string    `json:"-" query:"search"`
	Size   int64     `json:"-" query:"size"`
	At     time.Time `json:"-" query:"at"`
	Name   kind      `json:"name"`
	Note   string    `json:"note,omitempty"`
	Force  bool      `json:"force,omitempty"`
	Lines  []string  `json:"lines,omitempty"`
}

// A visitor lists the parameters that it sees, and sets the strings.
type visitor []string

func (v *visitor) set(what, name string, value *string) {
	*v = append(*v, what+" "+name)
	*value = name
}

func (v *visitor) Service(value *string)                    { v.set("service", "s", value) }
func (v *visitor) Record(value *string)                     { v.set("record", "id", value) }
func (v *visitor) Text(name string, value *string)          { v.set("text", name, value) }
func (v *visitor) Number(name string, _ *int64)             { *v = append(*v, "number "+name) }
func (v *visitor) Moment(name string, _ *time.Time)         { *v = append(*v, "moment "+name) }
func (v *visitor) Page(*api.PageRequest)                    { *v = append(*v, "page") }
func (v *visitor) OneOf(n string, to *string, of ...string) { v.set(fmt.Sprint("one of ", of), n, to) }

func TestTagsDeclareParameters(t *testing.T) {
	t.Parallel()
	var v visitor
	var s sample
	api.Query(&s, &v)
	want := []string{
		"service s", "record id", "page", "text service", "one of [a b] kind", "text search", "number size", "moment at",
	}
	if d := cmp.Diff(want, []string(v)); d != "" {
		t.Errorf("parameters (-want +got):\n%s", d)
	}
	if s.Service != "s" || s.ID != "id" || s.Other != "service" || s.Kind != "kind" || s.Search != "search" {
		t.Errorf("got %+v", s)
	}
}

func TestTagsDeclareMembers(t *testing.T) {
	t.Parallel()
	if !api.HasMembers(&sample{}) || api.HasMembers(&api.Record{}) {
		t.Error("members are not found, or found where there are none")
	}
	for text, want := range map[string]string{
		`{"name": "n"}`: "n  false []",
		`{"name": "n", "note": "x", "force": true, "lines": ["a", "b"]}`: "n x true [a b]",
		`{"note": "x"}`:               "name is missing",
		`{"name": ""}`:                "name is missing",
		`{"name": 1}`:                 "must be a string",
		`{"name": "n", "force": "x"}`: "must be true or false",
		`{"name": "n", "lines": [1]}`: "must be a list of strings",
		`{"name": "n", "kind": "a"}`:  "unknown member",
	} {
		object, err := strictjson.DecodeObject([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var s sample
		var got string
		if err := api.ReadMembers(wire.NewMembers(object), &s); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(s.Name, " ", s.Note, " ", s.Force, " ", s.Lines)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
