package model

import (
	"sync"

	"golang.org/x/text/currency"
)

// IsCurrency reports whether code is the ISO 4217 code of a currency that is in use.
func IsCurrency(code string) bool { return currencies()[code] }

// currencies returns the codes in golang.org/x/text, whose data is CLDR 32 of 2017, updated by the lists below.
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

// The codes that ISO 4217 has assigned and withdrawn since CLDR 32. SVC has a code, but the library omits it because it is not legal
// tender.
var (
	newCurrencies   = []string{"MRU", "SLE", "SVC", "VES", "XCG", "ZWG"}
	endedCurrencies = []string{"CUC", "HRK", "MRO", "SLL", "VEF"}
)
