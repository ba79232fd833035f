package model

// Exported for a test that compares them with golang.org/x/text/currency.
var (
	NewCurrencies   = newCurrencies
	EndedCurrencies = endedCurrencies
)
