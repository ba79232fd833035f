//go:build !soak

package odrl

import "github.com/uimgate/uimgate/odrl/internal/model"

// The number of random policies in the tests. With the build tag soak there are more.
const (
	ComparedPolicies   = 12  // module, residual and plan
	DifferentialSeeds  = 2   // seeds of the fuzzer in addition to its corpus
	MutatedPolicies    = 100 // published, decided
	MutatedDocuments   = 80  // loaded, validated, written canonically
	AgreeingPolicies   = 60  // Decide and Evaluate
	ReproducedPolicies = 20  // Decide, and Evaluate by the document alone
	DutiesCompared     = 40  // policies with duties under conditions, by gateway and document
	RewrittenRows      = 4   // every nth row of the conformance table also asks its canonical form
)

// EveryCombination reports whether tests of products run the whole product.
const EveryCombination = false

// Depths are the nesting depths of published constraints.
var Depths = []int{2, model.MaxNesting}

// The sizes of documents in tests of bounds.
const (
	TooManyRules        = 10_001 // more than MaxRules
	ManyRules           = 300    // one rule for each intent
	ChainedPolicies     = 100
	ChainedParts        = 500
	PairedRules         = 1_100 // permissions, and as many prohibitions: more pairs than the validator compares
	SearchedRules       = 20    // permissions, and as many prohibitions
	ComparedRules       = 100   // permissions, and as many prohibitions, each with …
	ComparedConstraints = 20    // … this many: more steps than the validator searches
	ComparedBytes       = 200 << 20
	SearchedConstraints = 2_000
	WarnedConstraints   = 120 // more than the validator reports
	ConditionedRules    = 3   // published on a busy machine
	UnknownKeys         = 5_000
)
