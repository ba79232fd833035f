package reason

// A Cause is why the gateway shed a valid request: overload, a missing resource, or too many requests of one client. It is a label value of
// the metric uimgate_shed_total; agents do not see it.
type Cause string

// The causes.
const (
	// Causes for closing a connection before the gateway reads from it.
	ShedConnections        Cause = "connections"         // too many connections are open
	ShedConnectionsAddress Cause = "connections_address" // too many connections of the address or its network are open

	// Causes for refusing a request.
	ShedMemory            Cause = "memory"             // no memory for a body, a response of the service, or its parsed tree
	ShedRequestsAddress   Cause = "requests_address"   // the address exceeded server.per_address
	ShedAgreementsAddress Cause = "agreements_address" // the address exceeded server.issue_per_address
	ShedAgentIDs          Cause = "agent_ids"          // the address requested too many agent ids that belong to others
	ShedAgreements        Cause = "agreements"         // all callers together stored too many agreements
	ShedSignatures        Cause = "signatures"         // too many signatures are being verified
	ShedAdminTokens       Cause = "admin_tokens"       // the address sent too many wrong admin tokens
	ShedClients           Cause = "clients"            // too many OAuth clients are registered
	ShedAlmanac           Cause = "almanac"            // too many agents are registered
	ShedAlmanacAddress    Cause = "almanac_address"    // too many agents are registered from the address, or it sent too many registrations
	ShedAlmanacLookup     Cause = "almanac_lookup"     // the Almanac that maps agents to their endpoints does not respond
	ShedDocuments         Cause = "client_documents"   // too many client documents are being fetched
	ShedEnvelopes         Cause = "envelopes"          // too many envelopes of all senders, or of one, wait for their replies
	ShedStreams           Cause = "streams"            // too many streams wait for calls to end

	// Causes for refusing a call.
	ShedReceipts    Cause = "receipts"    // the gateway cannot make the receipts of an account: its ledger was altered, or no key can sign
	ShedAudit       Cause = "audit"       // the audit record of the call cannot be written
	ShedFailing     Cause = "failing"     // too many calls of the agent were refused as invalid
	ShedBreaker     Cause = "breaker"     // the service behind the gateway failed too often
	ShedUpstream    Cause = "upstream"    // too many calls to the service are in progress
	ShedGrant       Cause = "grant"       // too much time passed between begin and send
	ShedRevocations Cause = "revocations" // the view of revocations is too old
	ShedStore       Cause = "store"       // the store does not respond in time
	ShedFacilitator Cause = "facilitator" // the facilitator of payments does not respond
	ShedStoreQueue  Cause = "store_queue" // too many writes wait for the store
	ShedBudget      Cause = "budget"      // a person changed the budget of the consent repeatedly while the call began
	ShedComparisons Cause = "comparisons" // another operator is comparing policies
)

// Causes returns all causes.
func Causes() []Cause {
	return []Cause{
		ShedConnections, ShedConnectionsAddress, ShedMemory, ShedRequestsAddress, ShedAgreementsAddress, ShedAgentIDs, ShedAgreements,
		ShedSignatures, ShedAdminTokens, ShedClients, ShedAlmanac,
		ShedAlmanacAddress, ShedAlmanacLookup, ShedDocuments, ShedEnvelopes, ShedStreams, ShedReceipts, ShedAudit, ShedFailing, ShedBreaker,
		ShedUpstream, ShedGrant, ShedRevocations, ShedStore, ShedFacilitator, ShedStoreQueue,
		ShedBudget, ShedComparisons,
	}
}

// ShedFor sets the Cause of a refusal of a valid request, and returns f. The code that records the refusal counts the Cause.
func (f *Refusal) ShedFor(c Cause) *Refusal {
	f.Shed = c
	return f
}
