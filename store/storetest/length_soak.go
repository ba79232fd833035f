//go:build soak

package storetest

// How much the suite does at random.
const (
	// random models of windows and of the ledger
	modelSeeds  = 3
	windowSteps = 1000
	ledgerSteps = 400

	// holders of leases in trouble
	holderSeeds  = 2
	windowRounds = 1200
	lossRounds   = 900

	// statements over random charges
	randomCharges = 120
	randomPeriods = 60

	// rows that go in several steps of 100
	purgedRows = 1200
	sweptRows  = 1100
)
