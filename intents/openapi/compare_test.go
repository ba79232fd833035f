package openapi_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/intents/openapi"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
)

func TestTermsInWords(t *testing.T) {
	price := func(nano int64) money.Amount { return money.Amount{Nano: nano, Currency: "EUR"} }
	hourly := limit.Rate{Max: 60, Period: limit.Hour}
	a := openapi.Terms{Certain: true, Price: price(money.Unit / 5), Limit: hourly}
	free := openapi.Terms{Certain: true}
	for _, tt := range []struct {
		from, to openapi.Terms
		changes  string
		text     string
	}{
		{a, a, "", "0.20 EUR, 60/hour"},
		{a, free, "price 0.20 EUR → none, limit 60/hour → none", "0.20 EUR, 60/hour"},
		{free, a, "price none → 0.20 EUR, limit none → 60/hour", "free, without limit"},
		{openapi.Terms{Price: a.Price}, free, "price 0.20 EUR → none", "price and limit depend on the call"},
	} {
		if got := strings.Join(tt.from.Changes(tt.to), ", "); got != tt.changes {
			t.Errorf("%v to %v: %q, want %q", tt.from, tt.to, got, tt.changes)
		}
		if got := tt.from.String(); got != tt.text {
			t.Errorf("%q, want %q", got, tt.text)
		}
	}
}

func TestVersionsShareALine(t *testing.T) {
	for _, tt := range []struct{ uids, want string }{
		{"", ""},
		{"a:x:v1", "a:x:v1: t"},
		{"a:x:v10 a:x:v9 a:x:v2", "a:x:v2, v9 and v10: t"},
		{"a:x:v1 a:y:v1 a:x:v2 a:x:other", "a:x:v1 and v2: t|a:y:v1: t|a:x:other: u"},
		{"a:x:none odd", "odd: t"},
	} {
		got := openapi.Lines(strings.Fields(tt.uids), func(uid string) string {
			switch {
			case strings.HasSuffix(uid, ":none"):
				return ""
			case strings.HasSuffix(uid, ":other"):
				return "u"
			default:
				return "t"
			}
		})
		if text := strings.Join(got, "|"); text != tt.want {
			t.Errorf("%s: %q, want %q", tt.uids, text, tt.want)
		}
	}
}
