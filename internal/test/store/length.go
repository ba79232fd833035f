//go:build !soak

package storetest

// The amount of random tests. With the build tag soak there are more.
const (
	wholeSuite = false // RunLimits and RunExcept run the whole suite

	// random models of windows and of the ledger
	modelSeeds  = 1
	windowSteps = 250
	ledgerSteps = 120

	// holders of leases with faults
	holderSeeds  = 1
	windowRounds = 250
	lossRounds   = 200

	// statements over random charges
	randomCharges = 40
	randomPeriods = 30

	// rows that are deleted in several steps of 100
	purgedRows = 350
	// agreements that a change of the plan ends
	manyAgreements = 150
	sweptRows      = 310
)
