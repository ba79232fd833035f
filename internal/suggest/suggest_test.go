package suggest_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/suggest"
)

func TestName(t *testing.T) {
	known := []string{"price_range", "query", "max_rent", "city"}
	for got, want := range map[string]string{
		"priceRange": "price_range", "qurey": "query", "maxrent": "max_rent", "zzz": "", "": "",
		strings.Repeat("query", 1000): "",
	} {
		if n := suggest.Name(got, known); n != want {
			t.Errorf("Name(%.20q) = %q, want %q", got, n, want)
		}
	}
}
