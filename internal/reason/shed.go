package reason

// A Cause is why a valid request was refused: the gateway is overloaded, lacks a resource, or a client sent too many requests. It is a
// label of the metric uimgate_shed_total; agents do not see it.
type Cause string

// The causes.
const (
	// Of connections, before anything is read.
	ShedConnections        Cause = "connections"         // there are too many
	ShedConnectionsAddress Cause = "connections_address" // their address or network has too many

	// Of requests.
	ShedMemory            Cause = "memory"             // for a body, a response of the service, or the tree of one
	ShedRequestsAddress   Cause = "requests_address"   // server.per_address
	ShedAgreementsAddress Cause = "agreements_address" // server.issue_per_address
	ShedAgentIDs          Cause = "agent_ids"          // the address asked for too many ids of others
	ShedAgreements        Cause = "agreements"         // too many were stored, of all callers
	ShedSignatures        Cause = "signatures"         // too many are being verified
	ShedAdminTokens       Cause = "admin_tokens"       // the address sent too many wrong ones
	ShedClients           Cause = "clients"            // too many OAuth clients are registered
	ShedAlmanac           Cause = "almanac"            // too many agents are registered
	ShedAlmanacAddress    Cause = "almanac_address"    // too many are of the address, or it sent too many recently
	ShedAlmanacLookup     Cause = "almanac_lookup"     // the Almanac that maps agents to their endpoints does not respond
	ShedDocuments         Cause = "client_documents"   // too many documents of clients are being fetched
	ShedEnvelopes         Cause = "envelopes"          // too many envelopes wait for their replies, of all senders or of one
	ShedStreams           Cause = "streams"            // too many streams wait for the ends of calls

	// Of calls.
	ShedAudit       Cause = "audit"       // the record of the call cannot be written
	ShedFailing     Cause = "failing"     // too many calls of the agent were refused as invalid
	ShedBreaker     Cause = "breaker"     // the service behind the gateway failed too often
	ShedUpstream    Cause = "upstream"    // too many calls to the service are in progress
	ShedGrant       Cause = "grant"       // it took too long between begin and send
	ShedRevocations Cause = "revocations" // the view of revocations is too old
	ShedStore       Cause = "store"       // the store does not respond, or not in time
	ShedStoreQueue  Cause = "store_queue" // too many writes wait for the store
)

// Causes returns all of them.
func Causes() []Cause {
	return []Cause{
		ShedConnections, ShedConnectionsAddress, ShedMemory, ShedRequestsAddress, ShedAgreementsAddress, ShedAgentIDs, ShedAgreements,
		ShedSignatures, ShedAdminTokens, ShedClients, ShedAlmanac,
		ShedAlmanacAddress, ShedAlmanacLookup, ShedDocuments, ShedEnvelopes, ShedStreams, ShedAudit, ShedFailing, ShedBreaker,
		ShedUpstream, ShedGrant, ShedRevocations, ShedStore, ShedStoreQueue,
	}
}

// ShedFor sets the cause of a refusal of a valid request. The recorder of the refusal counts it.
func (f *Refusal) ShedFor(c Cause) *Refusal {
	f.Shed = c
	return f
}
