package limit_test

import (
	"encoding/json"
	"testing"

	"github.com/uimgate/uimgate/internal/limit"
)

// The ids are stored with the counts.
func TestIDsOfLimitsWithoutPolicy(t *testing.T) {
	r := limit.Rate{Max: 9, Period: limit.Hour}
	for _, c := range []struct {
		got  limit.Limit
		id   string
		kind limit.Kind
	}{
		{limit.OfToken(r), "pat", limit.Token},
		{limit.OfService("example.com:buy:v1", r), "ceiling:example.com:buy:v1", limit.Ceiling},
		{limit.OfNewcomers("example.com:buy:v1", r), "ceiling:newcomers:example.com:buy:v1", limit.Ceiling},
		{limit.Limit{ID: "0123456789abcdef", Rate: r}, "0123456789abcdef", limit.Policy},
	} {
		if want := (limit.Limit{ID: c.id, Rate: r, Kind: c.kind}); c.got != want {
			t.Errorf("%+v; want %+v", c.got, want)
		}
		if kind := limit.KindOf(c.id); kind != c.kind {
			t.Errorf("%s: kind %v; want %v", c.id, kind, c.kind)
		}
		text, err := json.Marshal(c.got)
		if want := `{"id":"` + c.id + `","max":9,"period":"hour"}`; err != nil || string(text) != want {
			t.Errorf("%s, %v; want %s", text, err, want)
		}
	}
}
