package store

import "time"

// A Registration is a signed record in which an agent states its endpoints. It is stored by a service that acts as an Almanac.
type Registration struct {
	Service string
	Address string
	Network string // agent, test-agent, or empty for either
	// Record is the agent's statement in the format of the Almanac. The store does not interpret it.
	Record    []byte
	Protocols []string // digests; lookups by protocol use them
	Source    string   // address or network of the client that sent the record; see SourcesBound
	Active    bool
	// AttestedAt is when the agent signed the record. A newer record replaces an older one, but not the reverse.
	AttestedAt time.Time
	Until      time.Time // when the registration is deleted
}

// RegistrationBounds limit how many registrations are stored. Expired registrations do not count.
type RegistrationBounds struct {
	All    int // registrations of one service
	Source int // registrations of one service that came from one source
	Wider  []SourcesBound
}

// A SourcesBound limits the number of registrations of one service whose Source begins with Prefix. Prefix is ASCII and not empty.
type SourcesBound struct {
	Prefix string
	Most   int
}
