//go:build !soak

package storetest

// How much the suite does at random. With the build tag soak it does more.
const (
	// random models of windows and of the ledger
	modelSeeds  = 1
	windowSteps = 250
	ledgerSteps = 120

	// holders of leases in trouble
	holderSeeds  = 1
	windowRounds = 250
	lossRounds   = 200

	// statements over random charges
	randomCharges = 40
	randomPeriods = 30

	// rows that go in several steps of 100
	purgedRows = 350
	sweptRows  = 310
)
