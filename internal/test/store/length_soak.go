//go:build soak

package storetest

// These constants set how many random tests run.
const (
	wholeSuite = true // RunLimits and RunExcept run the whole suite

	// random models of windows and of the ledger
	modelSeeds  = 3
	windowSteps = 1000
	ledgerSteps = 400

	// holders of leases with faults
	holderSeeds  = 2
	windowRounds = 1200
	lossRounds   = 900

	// statements over random charges
	randomCharges = 120
	randomPeriods = 60

	// rows that are deleted in several steps of 100
	purgedRows = 1200
	// agreements that a change of the plan ends
	manyAgreements = 10_000
	sweptRows      = 1100
)
