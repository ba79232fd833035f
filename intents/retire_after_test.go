package intents_test

import (
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/intents"
)

func TestRetireAfter(t *testing.T) {
	end := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	text := func(v string) []byte {
		return []byte(`{"service-info": {"name": "a"}, "intents": [{"intent_uid": "a.example:b:v1", "intent_name": "B", "description": "B.",
			"endpoint": {"url": "https://a.example/b", "method": "GET"}, "output_parameters": [], "retire_after": ` + v + `}]}`)
	}
	for name, tt := range map[string]struct {
		now     time.Time
		retired bool
	}{
		"no clock":    {time.Time{}, false},
		"before":      {end.Add(-time.Second), false},
		"at the time": {end, true},
		"after":       {end.Add(time.Hour), true},
	} {
		c, problems := intents.Parse(text(`"2026-12-01T00:00:00Z"`), intents.Options{Strict: true, Now: tt.now})
		if c == nil {
			t.Fatalf("%s: %v", name, problems)
		}
		in := c.Intents()[0]
		if in.Retired != tt.retired || !in.RetireAfter.Equal(end) || !in.RetiredAt(end) || in.RetiredAt(end.Add(-1)) != tt.retired {
			t.Errorf("%s: retired %v, want %v; ends %v", name, in.Retired, tt.retired, in.RetireAfter)
		}
		if found := len(c.Search(intents.Query{}).Intents); (found == 0) != tt.retired {
			t.Errorf("%s: a search finds %d", name, found)
		}
	}
	for _, bad := range []string{`"soon"`, `"2026-13-01T00:00:00Z"`, `7`, `"2026-12-01"`} {
		c, problems := intents.Parse(text(bad), intents.Options{Strict: true})
		if c != nil || !strings.Contains(problems[0].Message, "retire_after") {
			t.Errorf("%s: %v, want an error about retire_after", bad, problems)
		}
	}
}
