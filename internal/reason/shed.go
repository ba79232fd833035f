package reason

// A Cause is why something was refused that was right in itself: the gateway had more to do than it can, had not what it
// takes, or was asked too often by somebody. It is a label of the metric uimgate_shed_total, and nothing that agents see.
type Cause string

// The causes.
const (
	// Of connections, before anything is read.
	ShedConnections        Cause = "connections"         // there are as many as there may be
	ShedConnectionsAddress Cause = "connections_address" // their address or network has as many as it may

	// Of requests.
	ShedMemory            Cause = "memory"             // for a body, an answer of the service, or the tree of one
	ShedRequestsAddress   Cause = "requests_address"   // server.per_address
	ShedAgreementsAddress Cause = "agreements_address" // server.issue_per_address
	ShedAgentIDs          Cause = "agent_ids"          // the address asked for too many ids of others
	ShedAgreements        Cause = "agreements"         // as many were kept as may be, of all callers
	ShedSignatures        Cause = "signatures"         // as many are being verified as may be
	ShedAdminTokens       Cause = "admin_tokens"       // the address sent too many wrong ones
	ShedClients           Cause = "clients"            // as many clients of OAuth are registered as may be
	ShedAlmanac           Cause = "almanac"            // as many agents are registered as may be
	ShedAlmanacAddress    Cause = "almanac_address"    // as many are of the address as may be, or it sent too many of late
	ShedAlmanacLookup     Cause = "almanac_lookup"     // the Almanac that maps agents to their endpoints does not answer
	ShedDocuments         Cause = "client_documents"   // as many documents of clients are being fetched as may be
	ShedEnvelopes         Cause = "envelopes"          // as many envelopes wait for their answers as may, of all senders or of one
	ShedStreams           Cause = "streams"            // as many streams wait for the ends of calls as may be

	// Of calls.
	ShedAudit       Cause = "audit"       // the record of the call cannot be written
	ShedFailing     Cause = "failing"     // too many calls of the agent were refused for what is in them
	ShedBreaker     Cause = "breaker"     // the service behind failed too often
	ShedUpstream    Cause = "upstream"    // as many calls are under way to the service as may be
	ShedGrant       Cause = "grant"       // it took too long between begin and send
	ShedRevocations Cause = "revocations" // it is not known recently enough what was revoked
	ShedStore       Cause = "store"       // the store does not answer, or not in time
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

// ShedFor sets why the Refusal sheds. The recorder of the refusal counts it.
func (f *Refusal) ShedFor(c Cause) *Refusal {
	f.Shed = c
	return f
}
