package model

// What tests compare with the library.
var (
	NewCurrencies   = newCurrencies
	EndedCurrencies = endedCurrencies
)
