package limit

import "strings"

// A Kind is the origin of a limit.
type Kind uint8

// The kinds of limits. Each has separate counters.
const (
	// Policy is a limit of a rule of the policy; its ID is 16 hex digits.
	Policy Kind = iota
	// Token is the limit that a PAT carries, over all calls of its agent.
	Token
	// Ceiling is the limit that the service sets for an intent, shared by all agents or by all unapproved ones.
	Ceiling
)

// The ids of counters that belong to no policy. They are stored: a change here loses the counts.
const (
	tokenID       = "pat"
	ceilingPrefix = "ceiling:"
	newcomers     = "newcomers:" // after ceilingPrefix; no intent begins so, because its uid has three parts
)

// KindOf returns the kind of the limit whose counter has an ID.
func KindOf(id string) Kind {
	switch {
	case id == tokenID:
		return Token
	case strings.HasPrefix(id, ceilingPrefix):
		return Ceiling
	default:
		return Policy
	}
}

// OfToken returns the limit that a PAT carries.
func OfToken(r Rate) Limit { return Limit{ID: tokenID, Rate: r, Kind: Token} }

// OfService returns the limit that the service sets for all calls of an intent together.
func OfService(intent string, r Rate) Limit {
	return Limit{ID: ceilingPrefix + intent, Rate: r, Kind: Ceiling}
}

// OfNewcomers returns the limit for all calls of an intent by unapproved agents together.
func OfNewcomers(intent string, r Rate) Limit {
	return Limit{ID: ceilingPrefix + newcomers + intent, Rate: r, Kind: Ceiling}
}
