package reason

// Help explains the causes of r and the remedy in a few sentences. The page at help_url shows this text in addition to the message and the
// suggestion. The text is empty for the reasons that only operators see.
func (r Reason) Help() string { return help[r] }

// ForOperators reports whether only the admin API refuses with r.
func (r Reason) ForOperators() bool { return help[r] == "" }

// help explains each reason that agents can receive. The explanations name paths and members of details, but never a value.
var help = map[Reason]string{
	MissingToken: "Every call to an intent, every renewal and every introspection requires the token (PAT) that the service issued " +
		"for an agreement, in the header Authorization: Bearer <PAT>.",
	InvalidToken: "The token is damaged or incomplete, belongs to another service, is not valid yet, or is not a PAT. Each service " +
		"accepts only the tokens that it issued itself; aud and iss of a PAT are the issuer of its service.",
	ExpiredToken: "The time in exp has passed. A token can be renewed only while it is valid; afterwards, a new agreement is " +
		"required.",
	RevokedToken: "The agent or the operator revoked the token, its agreement, its agent or all tokens of its policy. A token also " +
		"becomes invalid one minute after it was renewed: use the newer token.",

	InsufficientPermissions: "The policy permits this agent none of the requested intents, or the operator admits only certain " +
		"agents and this agent is not one of them. details.scope_omitted lists each requested entry that was omitted, and the reason.",
	ScopeExceeded: "The PAT was issued for other intents. The response of /api/pat/issue states its scope. Agree again with a scope " +
		"that includes details.scope_needed, or without a scope to get everything that the policy permits.",
	PolicyViolation: "A prohibition of the policy applies to this call. details.rule identifies it by its uid or by a JSON pointer " +
		"into the policy. Sending the same call again does not help.",
	PolicyExpired: "A rule that permitted the call was limited to a period that has ended.",
	PolicyNotApplicable: "A permission covers a call only if all its constraints are met, for example those on the time, a parameter, the " +
		"place or the declared purpose. No permission of the policy covers this call.",
	PolicyRequiresAgreement: "The terms of the intent have changed since you agreed. Your agreement remains valid for intents with the " +
		"same terms, unless the policy has another uid. Fetch /api/policy, compare it with the earlier policy, and agree again only if " +
		"its terms are acceptable to the people responsible for the agent. details.policy identifies the new policy.",
	PolicyRequiresVerification: "The call requires a proof that it comes from the holder of the agreed key. Either no proof was " +
		"sent, or the proof was made for a different request. A proof is a JWS of typ uim-proof+jwt in the UIM-Proof header. Its kid " +
		"is the RFC 7638 thumbprint of the key. Its payload has iat (within five minutes of the current time), jti (16 to 128 " +
		"characters, new each time), aud (the issuer), pat (the jti of the PAT) and digest. The digest is the unpadded base64url of " +
		"the SHA-256 of the RFC 8785 form of {\"intent_uid\", \"parameters\"} as sent, or of {\"renew\": jti} for a renewal.",
	ProofReplayed: "The jti of a proof can be used only once. A repeated call needs a new proof, but keeps its Idempotency-Key.",
	BudgetExceeded: "A person permitted the client to spend at most details.budget, and the charge of the call exceeds the rest of it, " +
		"details.left. A released charge becomes available again. details.until, if present, is when more becomes available. On the page at " +
		"details.consents_url, the person sees the consent, changes its budget, and ends it.",
	ConfirmationRequired: "The call is made under a person's consent. It costs details.charge, which is above details.without_confirmation " +
		"(the smaller of the person's and the operator's amounts), or the service requires a confirmation of each call to this intent. A " +
		"confirmation permits exactly this call, once, within ten minutes: other parameters, another price or another policy need a new one. " +
		"If details.refused is true, the person did not confirm the call.",
	PlanRequired: "The policy permits the intent only under certain plans: permissions with a constraint on uim:plan. An agreement " +
		"without a plan, or with another plan, does not include them. details.plans lists the plans that include the intent, and details.plan " +
		"the plan of the agreement, if it has one. An agreement with another plan ends the earlier agreement; what was used in the present " +
		"windows counts against the limits of the new plan.",
	UnknownPlan: "The plan in the request, or declared.plan in the agreement, is not a plan of the policy that was signed, or the two differ. " +
		"details.plans lists the plans of the policy. A plan must be a single string, and part of what the agent signs.",
	AgentBlocked: "The operator blocked the agent, or the gateway blocked it after too many attempts to exceed a limit that the " +
		"policy forbids exceeding.",
	FreshAgreementRequired: "The agent agreed with a signature that anyone who has seen it could send again: a JWS over the policy, " +
		"or a detached signature. This intent, or this service, accepts only a uim-agreement+jwt or calls with a proof of key.",

	PolicyMismatch: "The digest of a policy is \"sha-256:\" followed by the unpadded base64url of the SHA-256 of its RFC 8785 form " +
		"(JSON Canonicalization Scheme: sorted members, no white space). Do not hash the bytes as they are served. The digest equals " +
		"the ETag of /api/policy without the quotes, so an agent can take it from there. details.policy has the uid and digest of the policy that " +
		"the service offers now. details.signed_digest is the digest that was signed. If only the typ of the header or policy.uid is " +
		"wrong, details.member names it.",
	AgreementReplayed: "A uim-agreement+jwt can be used only once, and the service has seen its jti before. If the response was " +
		"lost, create a new agreement.",
	AgreementStale: "iat differs from the clock of the service by more than five minutes. iat is in seconds, not milliseconds.",
	AgreementMisdirected: "The agreement has no htu, or its htu is not the URL of the issue endpoint: details.htu. This is the URL " +
		"that agents.json publishes as uim-pat-issue, without query and fragment. Another address that leads to the same endpoint is " +
		"not accepted.",

	BadSignature: "The signature does not verify with the key that was sent (agent_public_key) or, for a proof, with the agreed key. " +
		"The usual cause is that the signed bytes are not those that were sent: for a JWS, the header, a dot and the payload, both in " +
		"base64url. Other causes: an ECDSA signature is in DER, but a JWS takes r and s side by side; kid is not the thumbprint of the key; " +
		"another key signed.",
	WeakKey: "A key that others could break is not evidence of an agreement.",
	UnsupportedKey: "agent_public_key accepts PEM, a JWK, base64 of the DER SubjectPublicKeyInfo, or base64url of the 32 bytes of an " +
		"Ed25519 key. It does not accept private keys, certificates or other curves.",

	RateLimitExceeded: "A limit of the policy, or of the token itself, is exhausted for its period. RateLimit-Policy names the " +
		"limits. RateLimit has the number of calls left (r) and the seconds until the oldest counted call leaves the window (t). A new " +
		"token or agreement does not reset a limit. Nothing was done or charged.",
	QuotaExceeded: "The limit counts all calls ever made. It has no period after which it would reset.",
	RestoredLimits: "The service lost its newest records and continues from a backup, which does not contain the latest calls of the " +
		"agent. So the gateway cannot know how much of the limit is left. It holds the limit back until details.until, so that the limit " +
		"of the policy is not exceeded. Agents that agreed after the backup was made are not affected. Nothing was done or charged.",
	ServiceCeiling: "The operator limits the calls of all agents together, so that the service behind the gateway is not overloaded. " +
		"Nothing was done or charged.",

	PolicyRequiresPayment: "The policy charges for the call, and the charge exceeds the agent's remaining credit or balance. Nothing " +
		"was done or charged. If details.payment is set, it has the price, the balance, the smallest payment (shortfall) and where to pay. " +
		"If the message refers to the deadline of a duty, the time to pay has passed and a payment does not help.",

	NewcomersExhausted: "All agents that the operator has not approved share one credit for calls that cost money. Others have used it " +
		"up; it becomes available again gradually, within 24 hours. Agents that the operator approved, and agents that have paid in, do not " +
		"need it. Nothing was done or charged.",

	PolicyConflict: "A permission and a prohibition apply to the same call, and the policy does not define which of them prevails. " +
		"The gateway denies such calls.",
	PaymentMismatch: "The payment that came with the request is for another address, token or network, or for less than the service asks " +
		"for, or for more than it accepts. The facilitator did not receive it, so nothing was paid. details.member names the part that differs.",
	PaymentFailed: "The facilitator did not accept the payment, or could not settle it, for example because the payer has too little of the " +
		"token. Nothing was paid, and nothing was done. details.error_reason has the reason of the facilitator.",
	PaymentUsed: "Each payment has a reference, and each reference belongs to one payment with one agent, amount and currency. The gateway has " +
		"already received this reference with other values. Nothing was entered in the ledger.",
	PaymentUnknown: "An earlier payment has not ended, or the gateway cannot enter it in the ledger yet. The gateway obtains " +
		"the outcome, or the operator decides. Until then, it asks for no other payment.",
	AgentIDTaken: "An agent_id belongs to the first key that agreed under it. details.suggested_agent_id is available for your key.",
	KeyTaken: "A key has one agent_id at each service: the agent_id of its first agreement. After a fresh agreement, which proves that you " +
		"hold the key, details.agent_id has it.",
	IdempotencyKeyReused: "For 24 hours, an Idempotency-Key identifies one request with exactly the same intent and parameters. " +
		"Repeat that request unchanged, or use a new key for a new request.",
	IdempotencyInProgress: "The first call with this key has not finished yet. Send the same request with the same key after the " +
		"time in Retry-After; you then get the response of the first call. details.execution_id identifies that call for the operator.",
	OutcomeUnknown: "The connection to the service behind the gateway broke during the call. The key stays bound to the call until " +
		"its outcome is known, so that nothing is done twice. Repeat the same request with the same key later, or ask the operator for the " +
		"outcome of details.execution_id. If the response has Retry-After, the gateway is asking the service for the outcome. If you use a new key, the call " +
		"may be executed twice.",
	UpstreamRejected: "The gateway permitted the call and sent it, and the service behind the gateway rejected it: details.upstream " +
		"has the status and the message of the service. Nothing was charged. error.code is INVALID_PARAMETER, NOT_FOUND or CONFLICT, " +
		"depending on that status.",

	MissingParameter: "A parameter that the intent requires was not sent. Each entry of details.violations has a pointer (RFC 6901, " +
		"into the whole body), the keyword of JSON Schema, a message and the limit. Nothing was done, counted or charged.",
	InvalidParameter: "A parameter or another member of the request has an invalid value, for example one of the wrong type. If " +
		"details.violations is present, each entry has a pointer (RFC 6901, into the whole body), the keyword of JSON Schema, a " +
		"message and the limit.",
	InvalidFormat: "A string does not have the format, or does not match the pattern, that the intent requires. Examples of formats " +
		"are date (2026-01-31) and date-time (2026-01-31T09:30:00Z).",
	ParameterTooLong:  "A string has too many characters, or an array or object has too many entries.",
	ParameterTooShort: "A string has too few characters, or an array or object has too few entries.",
	ParameterOutOfRange: "A number is below the minimum or above the maximum of the intent, or is not a multiple of the required " +
		"number.",
	InvalidEnumValue: "The intent does not allow this value; details.violations lists the values that it allows.",
	UnknownParameter: "The intent has no parameter of this name: details.violations lists its parameters and the closest match. This " +
		"reason also applies if a parameter is next to the parameters object in the body instead of inside it.",

	IntentNotFound: "This service has no intent with this uid (namespace:name:version). A host can offer several services, each with " +
		"its own agents.json.",
	VersionConflict:  "The namespace and the name are correct, but the service does not offer this version.",
	IntentDeprecated: "The intent was retired. If details.replaced_by is present, it names the intent to use instead.",

	ReceiptNotFound: "Receipts exist only for calls with a charge, and an agent can read only its own. The gateway does not reveal whether " +
		"another agent has made the call.",
	EvidenceExpired: "The operator keeps the ledger for a limited time (billing.retain). Older entries are deleted from the beginning of " +
		"each account, and an entry of kind carry keeps their sums.",
	NotLoggedYet: "The gateway appends the entries of its ledger to a log every second. The receipt of the call is valid without the log; the " +
		"proof of its place in the log exists a moment later.",

	Stopped: "The operator can stop all requests to the service, only those of one agent, intent or protocol, only those that are charged, or " +
		"only those under the consents of people. details.stopped names what was stopped. Agreements and PATs stay valid: continue when the " +
		"operator resumes.",
	StoreUnavailable: "The gateway has to account for limits and charges. It executes a request only if it can record the request " +
		"and check the token for revocation. The cause usually passes within seconds.",
	BreakerOpen: "After several failures in a row, the gateway pauses calls to the service behind it, so that the service can " +
		"recover.",
	Overloaded: "Too many calls, signatures or bytes were in progress at once, either of all agents or of this agent. Wait, then " +
		"send fewer at a time.",
	GrantExpired: "Too much time passed between the permission to call and the call itself. Nothing was sent, counted or charged.",
	UpstreamBusy: "The service behind the gateway responded with status 429. Nothing was charged.",
	UpstreamTimeout: "The service behind the gateway took longer than the operator allows. details.outcome is not_sent, failed, done " +
		"or unknown. If the request had an Idempotency-Key, repeat it with the same key: a call that took effect is not executed " +
		"again.",
	UpstreamUnreachable: "The gateway could not connect to the service behind it. details.outcome is usually not_sent: nothing was " +
		"done or charged.",
	UpstreamError: "The service behind the gateway responded with an error, or the connection to it broke. details.outcome shows " +
		"whether the call may have taken effect: not_sent, failed, done or unknown.",
	ResponseInvalid: "The service behind the gateway executed the call, but its response cannot be used. Either it lacks an output that " +
		"the intent requires, or the call is repeated under its Idempotency-Key and the response was not stored. Do not repeat the " +
		"call under a new key: it would be executed twice. In the first case nothing was charged; in the second, details.charge has the charge.",

	MalformedRequest: "The body is not JSON, has a duplicate or unknown member, or lacks a required member. The body of an execute " +
		"request is {\"intent_uid\": \"…\", \"parameters\": {…}}. details.pointer, or details.line and details.column, locate the " +
		"error.",
	BodyTooLarge:         "details.max_bytes is the maximum size of a body here, in bytes.",
	UnsupportedMediaType: "A body must be uncompressed JSON in UTF-8, with the header Content-Type: application/json.",
	MethodNotAllowed:     "The path exists, but does not support the method. Calls and agreements use POST; documents use GET.",
	NoSuchPath:           "agents.json lists every endpoint of the service; openapi.json describes them.",
	OriginNotAllowed: "The Origin header names a site that the operator does not allow, or the request reached this machine under a " +
		"host name that is not the service's. A web page must not use a service only because the browser of its reader can " +
		"reach that service. The operator can allow further origins in services[].doors.mcp.origins.",
	UnknownHost: "The gateway selects the service by the Host header, and no service has this host name. Use the address that " +
		"agents.json publishes.",
	TooManyConnections: "The address of the sender sent more requests than the operator allows.",
	RequestTimeout:     "The header of the request arrived, but its body did not, or only a part of it.",
	Internal: "An unexpected error occurred in the gateway. The operator can find it in the log by the request id (UIM-Request-ID, " +
		"details.request_id). details.outcome, if present, shows whether a call may have taken effect.",
}
