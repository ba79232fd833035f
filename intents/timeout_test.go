package intents_test

import (
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/intents"
)

// The operator's time limit replaces the one in the document, and agents read it.
func TestTimeoutIsPublished(t *testing.T) {
	t.Parallel()
	document := func(member string) string {
		return `{"service-info": {"name": "shop.example", "description": "A shop", "service_url": "https://shop.example"}, "intents": [
  {"intent_uid": "shop.example:report:v1", "intent_name": "Report", "description": "Report."` + member + `}]}`
	}
	for _, tt := range []struct {
		member string
		limit  time.Duration
		want   string
	}{
		{"", 90 * time.Second, `"description": "Report.", "x-timeout": 90}`},
		{"", 1500 * time.Millisecond, `"x-timeout": 2}`},
		{`, "x-timeout": 5`, 90 * time.Second, `"description": "Report.", "x-timeout": 90}`},
		{`, "x-timeout": 5`, 0, `"description": "Report."}`},
	} {
		c, problems := intents.Parse([]byte(document(tt.member)), intents.Options{
			Strict: true, Timeout: func(*intents.Intent) time.Duration { return tt.limit },
		})
		if c == nil {
			t.Fatal(problems)
		}
		published, err := c.Published(nil)
		if err != nil || !strings.Contains(string(published), tt.want) || strings.Count(string(published), "x-timeout") > 1 {
			t.Errorf("%s, %s: %s, %v; want %s", tt.member, tt.limit, published, err, tt.want)
		}
		read, problems := intents.Parse(published, intents.Options{})
		if read == nil {
			t.Fatal(problems)
		}
		if got, want := read.Intents()[0].Timeout, time.Duration(intents.Seconds(tt.limit))*time.Second; got != want {
			t.Errorf("an agent reads %s, want %s", got, want)
		}
	}
	for _, member := range []string{`-1`, `0`, `3601`, `"60"`, `null`} { // a caller must not wait for such a time
		c, _ := intents.Parse([]byte(document(`, "x-timeout": `+member)), intents.Options{})
		if c == nil || c.Intents()[0].Timeout != 0 {
			t.Errorf("%s was accepted", member)
		}
	}
}

func TestStreamMembers(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]struct {
		stream, first bool
		problem       string
	}{
		`"stream": true`:                            {stream: true},
		`"stream": true, "stream_charge": "end"`:    {stream: true},
		`"stream": true, "stream_charge": "first"`:  {stream: true, first: true},
		`"stream": true, "stream_charge": "middle"`: {stream: true, problem: "/intents/0/stream_charge"},
		`"stream_charge": "first"`:                  {problem: "/intents/0/stream_charge"},
	} {
		c, problems := intents.Parse([]byte(`{"service-info": {"name": "s", "description": "d", "service_url": "https://a.example"}, "intents": [
			{"intent_uid": "a.example:x:v1", "intent_name": "X", "description": "X.", "endpoint": "https://a.example/x", `+members+`}]}`), intents.Options{})
		if c == nil {
			t.Fatalf("%s: %v", members, problems)
		}
		at := ""
		for _, p := range problems {
			if p.Code == "stream" {
				at = p.Pointer
			}
		}
		if in := c.Intents()[0]; in.Stream != want.stream || in.StreamChargesFirst != want.first || at != want.problem {
			t.Errorf("%s: got %v, %v, a problem at %q", members, in.Stream, in.StreamChargesFirst, at)
		}
	}
}
