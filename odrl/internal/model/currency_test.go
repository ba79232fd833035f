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
			t.Errorf("%s: got no currency, want one", code)
		}
	}
	for _, code := range []string{"", "eur", "EU", "EURO", "QQQ", "XXX", "XTS", "DEM", "HRK", "hour", "percent"} {
		if model.IsCurrency(code) {
			t.Errorf("%q: got a currency, want none", code)
		}
	}
}

// Once the library follows a change by itself, our lists need not have it.
func TestTheLibraryHasNotFollowed(t *testing.T) {
	var inLibrary []string
	for q := currency.Query(); q.Next(); {
		inLibrary = append(inLibrary, q.Unit().String())
	}
	for _, code := range model.NewCurrencies {
		if slices.Contains(inLibrary, code) {
			t.Errorf("golang.org/x/text has %s now: take it out of newCurrencies", code)
		}
	}
	for _, code := range model.EndedCurrencies {
		if !slices.Contains(inLibrary, code) {
			t.Errorf("golang.org/x/text dropped %s: take it out of endedCurrencies", code)
		}
	}
}
