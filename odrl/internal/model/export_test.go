package model

// Exported for a test, which compares them with the library.
var (
	NewCurrencies   = newCurrencies
	EndedCurrencies = endedCurrencies
)
