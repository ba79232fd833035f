//go:build soak

package odrl

// How many random policies the tests look at.
const (
	ComparedPolicies   = 200  // module, residual and plan
	MutatedPolicies    = 2000 // published, decided
	MutatedDocuments   = 1500 // loaded, validated, written canonically
	AgreeingPolicies   = 500  // Decide and Evaluate
	ReproducedPolicies = 300  // Decide, and Evaluate by the document alone
)
