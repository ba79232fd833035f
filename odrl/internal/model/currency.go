package model

import (
	"sync"

	"golang.org/x/text/currency"
)

// IsCurrency reports whether a text is the ISO 4217 code of a currency that is in use.
func IsCurrency(code string) bool { return currencies()[code] }

// currencies are those of golang.org/x/text, whose data is CLDR 32 of 2017, brought up to date.
var currencies = sync.OnceValue(func() map[string]bool {
	list := map[string]bool{}
	for q := currency.Query(); q.Next(); {
		list[q.Unit().String()] = true
	}
	for _, code := range newCurrencies {
		list[code] = true
	}
	for _, code := range endedCurrencies {
		delete(list, code)
	}
	return list
})

// What ISO 4217 assigned and withdrew since the data of the library. SVC has a code but is not legal tender.
var (
	newCurrencies   = []string{"MRU", "SLE", "SVC", "VES", "XCG", "ZWG"}
	endedCurrencies = []string{"CUC", "HRK", "MRO", "SLL", "VEF"}
)
