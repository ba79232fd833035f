//go:build !soak

package odrl

// How many random policies the tests look at. With the build tag soak there are more.
const (
	ComparedPolicies   = 12  // module, residual and plan
	MutatedPolicies    = 100 // published, decided
	MutatedDocuments   = 150 // loaded, validated, written canonically
	AgreeingPolicies   = 60  // Decide and Evaluate
	ReproducedPolicies = 30  // Decide, and Evaluate by the document alone
)
