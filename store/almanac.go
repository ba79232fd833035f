package store

import "time"

// A Registration is a signed record in which an agent states its endpoints. A service that is an Almanac stores it.
type Registration struct {
	Service string
	Address string
	Network string // agent, test-agent, or empty for either
	// Record is the agent's statement in the form of the Almanac; the store does not interpret it.
	Record    []byte
	Protocols []string // digests; lookups by protocol use them
	Source    string   // address or network of the client that sent it; networks are identified by prefixes
	Active    bool
	// AttestedAt is when the agent signed the record: a newer one replaces an older one, never the reverse.
	AttestedAt time.Time
	Until      time.Time // when it is deleted
}

// RegistrationBounds bound how many registrations are stored; expired ones do not count.
type RegistrationBounds struct {
	All    int // of a service
	Source int // of them, of one source
	Wider  []SourcesBound
}

// A SourcesBound bounds the registrations of all sources that begin with a text, which is not empty, in ASCII.
type SourcesBound struct {
	Prefix string
	Most   int
}
