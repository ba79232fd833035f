//go:build !soak

package storetest

// How much the suite does at random. With the build tag soak it does more.
const (
	// random models of windows and of the ledger
	modelSeeds  = 1
	windowSteps = 400
	ledgerSteps = 200

	// holders of leases in trouble
	holderSeeds  = 1
	windowRounds = 400
	lossRounds   = 300

	// statements over random charges
	randomCharges = 60
	randomPeriods = 30

	// rows that go in several steps of 100
	purgedRows = 350
	sweptRows  = 310
)
