package model

// Exported for a test that compares them with the library.
var (
	NewCurrencies   = newCurrencies
	EndedCurrencies = endedCurrencies
)
