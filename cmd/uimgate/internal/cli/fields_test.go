package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type inner struct {
	Deep string `json:"deep"`
}

type record struct {
	inner

	Name   string          `json:"name,omitempty"`
	Count  int             `json:"count"`
	Known  *int64          `json:"known"`
	On     bool            `json:"on"`
	Names  []string        `json:"names"`
	At     time.Time       `json:"at,omitzero"`
	Millis float64         `json:"ms"`
	Raw    json.RawMessage `json:"raw"`
}

func TestFieldsPrintMembers(t *testing.T) {
	t.Parallel()
	two := int64(2)
	at := time.Date(2026, 11, 30, 12, 0, 0, 500, time.FixedZone("", 3600))
	columns := Fields("deep name count* known on names at ms raw twice",
		TextColumn("twice", func(r record) string { return r.Name + r.Name }),
		ForPeople("name", func(r record) string { return "<" + r.Name + ">" }))
	for _, c := range []struct {
		record      record
		csv, people string
	}{
		{
			record{inner{"d"}, "n", 7, &two, true, []string{"a", "b"}, at, 1e6, json.RawMessage(`{}`)},
			"d|n|7|2|true|a b|2026-11-30T11:00:00.0000005Z|1000000|{}|nn",
			"d|<n>|7|2|yes|a b|" + HumanTime(at) + "|1000000|{}|nn",
		},
		{record{}, "||0|?|false|||0||", "|<>|0|?|no|||0||"},
	} {
		var names, exact, human []string
		for _, column := range columns {
			names, exact, human = append(names, column.Name), append(exact, column.Exact(c.record)), append(human, column.show(c.record))
			if column.wide != (column.Name == "count") {
				t.Errorf("%s: wide is %v", column.Name, column.wide)
			}
		}
		if d := cmp.Diff(c.csv, strings.Join(exact, "|")); d != "" {
			t.Errorf("for programs (-want +got):\n%s", d)
		}
		if d := cmp.Diff(c.people, strings.Join(human, "|")); d != "" {
			t.Errorf("for people (-want +got):\n%s", d)
		}
		if got := strings.Join(names, " "); got != "deep name count known on names at ms raw twice" {
			t.Errorf("columns %s", got)
		}
	}
}

func TestFieldsRejectUnknownMembers(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Fields[record]("name missing")
}
