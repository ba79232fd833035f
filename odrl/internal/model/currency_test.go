package model_test

import (
	"slices"
	"testing"

	"golang.org/x/text/currency"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

func TestCurrencies(t *testing.T) {
	for _, code := range []string{"EUR", "USD", "JPY", "MRU", "SLE", "STN", "VES", "ZWG", "XCG"} {
		if !model.IsCurrency(code) {
			t.Errorf("IsCurrency(%s) = false, want true", code)
		}
	}
	for _, code := range []string{"", "eur", "EU", "EURO", "QQQ", "XXX", "XTS", "DEM", "HRK", "hour", "percent"} {
		if model.IsCurrency(code) {
			t.Errorf("IsCurrency(%q) = true, want false", code)
		}
	}
}

// The lists must not repeat a change that the library already contains.
func TestCurrencyListsAreNeeded(t *testing.T) {
	var inLibrary []string
	for q := currency.Query(); q.Next(); {
		inLibrary = append(inLibrary, q.Unit().String())
	}
	for _, code := range model.NewCurrencies {
		if slices.Contains(inLibrary, code) {
			t.Errorf("golang.org/x/text now has %s: remove it from newCurrencies", code)
		}
	}
	for _, code := range model.EndedCurrencies {
		if !slices.Contains(inLibrary, code) {
			t.Errorf("golang.org/x/text has dropped %s: remove it from endedCurrencies", code)
		}
	}
}
