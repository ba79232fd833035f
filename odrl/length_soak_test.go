//go:build soak

package odrl

import "github.com/uimgate/uimgate/odrl/internal/model"

// The number of random policies in the tests.
const (
	ComparedPolicies   = 200  // module, residual and plan
	DifferentialSeeds  = 8    // seeds of the fuzzer in addition to its corpus
	MutatedPolicies    = 2000 // published, decided
	MutatedDocuments   = 1500 // loaded, validated, written canonically
	AgreeingPolicies   = 500  // Decide and Evaluate
	ReproducedPolicies = 300  // Decide, and Evaluate by the document alone
	DutiesCompared     = 2000 // policies with duties under conditions, by gateway and document
	RewrittenRows      = 1    // every nth row of the conformance table also asks its canonical form
)

// EveryCombination reports whether tests of products run the whole product.
const EveryCombination = true

// Depths are the nesting depths of published constraints.
var Depths = []int{1, 2, 3, 4, 5, 6, 7, model.MaxNesting}

// The sizes of documents in tests of bounds.
const (
	TooManyRules        = 100_000 // more than MaxRules
	ManyRules           = 2_000   // one rule for each intent
	ChainedPolicies     = 500
	ChainedParts        = 2_000
	PairedRules         = 4_000     // permissions, and as many prohibitions: more pairs than the validator compares
	SearchedRules       = 300       // permissions, and as many prohibitions
	ComparedRules       = 600       // permissions, and as many prohibitions, each with …
	ComparedConstraints = 1         // … this many: more steps than the validator searches
	ComparedBytes       = 200 << 20 // for each searched pair: 330 MB
	SearchedConstraints = 9_000
	WarnedConstraints   = 500 // more than the validator reports
	ConditionedRules    = 150 // published on a busy machine
	UnknownKeys         = 50_000
)
