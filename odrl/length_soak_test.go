//go:build soak

package odrl

import "github.com/uimgate/uimgate/odrl/internal/model"

// How many random policies the tests look at.
const (
	ComparedPolicies   = 200  // module, residual and plan
	DifferentialSeeds  = 8    // seeds of the fuzzer beside its corpus
	MutatedPolicies    = 2000 // published, decided
	MutatedDocuments   = 1500 // loaded, validated, written canonically
	AgreeingPolicies   = 500  // Decide and Evaluate
	ReproducedPolicies = 300  // Decide, and Evaluate by the document alone
	DutiesCompared     = 2000 // policies with duties under conditions, by gateway and document
	RewrittenRows      = 1    // every which row of the conformance table is asked again as it is written canonically
)

// Depths are those at which nested constraints are published.
var Depths = []int{1, 2, 3, 4, 5, 6, 7, model.MaxNesting}

// How large the documents are that only have to be bounded.
const (
	TooManyRules        = 100_000 // more than MaxRules
	ManyRules           = 2_000   // of as many intents
	ChainedPolicies     = 500
	ChainedParts        = 2_000
	PairedRules         = 4_000     // permissions, and as many prohibitions: more pairs than are compared
	SearchedRules       = 300       // permissions, and as many prohibitions
	ComparedRules       = 600       // permissions, and as many prohibitions, each with …
	ComparedConstraints = 1         // … so many: more steps than are searched
	ComparedBytes       = 200 << 20 // of each pair searched: 330 MB
	SearchedConstraints = 9_000
	WarnedConstraints   = 500 // more than are warned of
	ConditionedRules    = 150 // published on a busy machine
	UnknownKeys         = 50_000
)
