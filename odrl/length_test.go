//go:build !soak

package odrl

import "github.com/uimgate/uimgate/odrl/internal/model"

// How many random policies the tests look at. With the build tag soak there are more.
const (
	ComparedPolicies   = 12  // module, residual and plan
	DifferentialSeeds  = 2   // seeds of the fuzzer beside its corpus
	MutatedPolicies    = 100 // published, decided
	MutatedDocuments   = 80  // loaded, validated, written canonically
	AgreeingPolicies   = 60  // Decide and Evaluate
	ReproducedPolicies = 20  // Decide, and Evaluate by the document alone
	DutiesCompared     = 40  // policies with duties under conditions, by gateway and document
	RewrittenRows      = 4   // every which row of the conformance table is asked again as it is written canonically
)

// Depths are those at which nested constraints are published.
var Depths = []int{2, model.MaxNesting}

// How large the documents are that only have to be bounded.
const (
	TooManyRules        = 10_001 // more than MaxRules
	ManyRules           = 300    // of as many intents
	ChainedPolicies     = 100
	ChainedParts        = 500
	PairedRules         = 1_100 // permissions, and as many prohibitions: more pairs than are compared
	SearchedRules       = 20    // permissions, and as many prohibitions
	ComparedRules       = 100   // permissions, and as many prohibitions, each with …
	ComparedConstraints = 20    // … so many: more steps than are searched
	ComparedBytes       = 200 << 20
	SearchedConstraints = 2_000
	WarnedConstraints   = 120 // more than are warned of
	ConditionedRules    = 3   // published on a busy machine
	UnknownKeys         = 5_000
)
