package limit

import "strings"

// A Kind is the origin of a limit: the policy, a PAT, the service or a person's consent.
type Kind uint8

// The kinds of limits. Each has separate counters.
const (
	// Policy is a limit of a rule of the policy; its ID is 16 hex digits.
	Policy Kind = iota
	// Token is the limit in a PAT, for all calls of its agent.
	Token
	// Ceiling is a limit that the service sets for an intent. All agents, or all unapproved agents, share it.
	Ceiling
	// Budget limits what a client may spend under a person's consent. It counts money instead of calls.
	Budget
)

// The ids of counters that do not belong to a policy. They are stored: a change to them loses the counts.
const (
	tokenID       = "pat"
	ceilingPrefix = "ceiling:"
	budgetPrefix  = "budget:"
	newcomers     = "newcomers:" // follows ceilingPrefix; cannot be mistaken for the uid of an intent, which has three parts
)

// KindOf returns the kind of the limit whose counter has the given ID.
func KindOf(id string) Kind {
	switch {
	case id == tokenID:
		return Token
	case strings.HasPrefix(id, ceilingPrefix):
		return Ceiling
	case strings.HasPrefix(id, budgetPrefix):
		return Budget
	default:
		return Policy
	}
}

// OfToken returns the limit of a PAT.
func OfToken(r Rate) Limit { return Limit{ID: tokenID, Rate: r, Kind: Token} }

// OfService returns the limit that the service sets for the calls to an intent by all agents together.
func OfService(intent string, r Rate) Limit {
	return Limit{ID: ceilingPrefix + intent, Rate: r, Kind: Ceiling}
}

// OfNewcomers returns the limit that the service sets for the calls to an intent by all unapproved agents together.
func OfNewcomers(intent string, r Rate) Limit {
	return Limit{ID: ceilingPrefix + newcomers + intent, Rate: r, Kind: Ceiling}
}
