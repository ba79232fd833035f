package intents_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/intents"
)

func TestPlans(t *testing.T) {
	t.Parallel()
	read := func(plans string) []intents.Plan {
		t.Helper()
		document := `{"service-info": {"name": "Shop", "description": "d", "service_url": "https://shop.example"}, "intents": [], ` +
			`"uim-plans": ` + plans + `}`
		c, problems := intents.Parse([]byte(document), intents.Options{Now: time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)})
		if c == nil {
			t.Fatal(problems)
		}
		return c.Plans
	}
	want := []intents.Plan{
		{"free", []intents.PlanTerms{{"20 calls a day", []string{"shop.example:search:v1"}, 3}}}, {"pro", []intents.PlanTerms{}},
	}
	got := read(`[{"name": "free", "terms": [{"text": "20 calls a day", "intents": ["shop.example:search:v1"], "more": 3}]}, {"name": "pro"}]`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	long := strings.Repeat("x", 5000)
	for _, none := range []string{"null", "{}", `"pro"`, "[]", `[1, "pro", {}, {"name": ""}, {"name": 1}, {"name": "` + long + `"}]`} {
		if got := read(none); got != nil {
			t.Errorf("%.40s: %+v", none, got)
		}
	}
	faulty := read(`[{"name": "p", "terms": [1, {}, {"text": 1}, {"text": "t", "intents": [1, "", "u"], "more": -1},
	  {"text": "t", "more": 1e99}]}]`)
	if diff := cmp.Diff([]intents.Plan{{"p", []intents.PlanTerms{{"t", []string{"u"}, 0}, {"t", []string{}, 0}}}}, faulty); diff != "" {
		t.Error(diff)
	}
	many := make([]string, 0, 300)
	for n := range cap(many) {
		many = append(many, fmt.Sprintf(`"u%d"`, n))
	}
	list := strings.Join(many, ",")
	plan := `{"name": "p", "terms": [` + strings.TrimSuffix(strings.Repeat(`{"text": "t", "intents": [`+list+`]},`, 250), ",") + `]}`
	large := read("[" + strings.TrimSuffix(strings.Repeat(plan+",", 20), ",") + "]")
	if len(large) != 16 || len(large[0].Terms) != 200 || len(large[0].Terms[0].Intents) != 100 || large[0].Terms[0].More != 200 {
		t.Errorf("%d plans, %d terms", len(large), len(large[0].Terms))
	}
}
