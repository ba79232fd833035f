package reason

// Help returns the causes of r and its remedy, in a few sentences: the content of the page at help_url, in addition to the message and
// the suggestion. It is empty for the reasons that only operators see.
func (r Reason) Help() string { return help[r] }

// ForOperators reports whether only the admin API refuses with r.
func (r Reason) ForOperators() bool { return help[r] == "" }

// help has a text for each reason that agents can get. It names members of details and paths, never a value.
var help = map[Reason]string{ //nolint:gosec // texts about tokens, and no token
	MissingToken: "Every call of an intent, a renewal and an introspection needs the token (PAT) that the service gave for a signed " +
		"agreement, in the header Authorization: Bearer <PAT>.",
	InvalidToken: "The token is damaged, was cut, belongs to another service, is not valid yet, or is not a PAT. Each service " +
		"takes only the tokens it issued itself; aud and iss of the PAT are its issuer.",
	ExpiredToken: "The time in exp has passed. Renew a token while it is still valid; afterwards only a new agreement helps.",
	RevokedToken: "The token, its agreement, its agent or all tokens of its policy were ended, by the agent itself or by the " +
		"operator. A token also ends a minute after it was renewed: use the newer one.",

	InsufficientPermissions: "The policy permits this agent nothing of what was asked for, or the operator admits agents by name and this " +
		"one is not among them. details.scope_omitted lists what was asked for and why it was left out.",
	ScopeExceeded: "The PAT was issued for other intents. The answer of /api/pat/issue has its scope. Agree again with a scope " +
		"that holds details.scope_needed, or without one for everything the policy permits.",
	PolicyViolation: "A prohibition of the policy covers this call. details.rule names it; it is a uid, or a JSON pointer into the " +
		"policy. Sending the same call again does not help.",
	PolicyExpired: "A rule that permitted the call was good until a time that has passed.",
	PolicyNotApplicable: "A call is permitted only by a permission whose constraints all hold: the time, a parameter, the place, the " +
		"purpose declared. None does.",
	PolicyRequiresAgreement: "The service offers another policy than the one agreed to. Tokens of the earlier one end at that moment. " +
		"Fetch " +
		"/api/policy, compare it, and agree again only if it suits the people responsible for the agent. details.policy names the new one.",
	PolicyRequiresVerification: "The call needs a proof that it comes from the holder of the agreed key, and there was none, or the one sent " +
		"was " +
		"not made for it. A proof is a JWS of typ uim-proof+jwt in the header UIM-Proof: kid is the RFC 7638 thumbprint of the key, and " +
		"its payload has iat (within five minutes), jti (16 to 128 characters, new each time), " +
		"aud (the issuer), pat (jti of the PAT) " +
		"and digest: unpadded base64url of SHA-256 over the RFC 8785 form of {\"intent_uid\", \"parameters\"} as sent, or of " +
		"{\"renew\": jti}.",
	ProofReplayed: "The jti of a proof counts once. A repeated call needs a proof of its own; its Idempotency-Key stays the same.",
	AgentBlocked: "The operator blocked the agent, or the gateway did after too many attempts beyond a limit that the policy " +
		"forbids to exceed.",
	FreshAgreementRequired: "The agreement was a signature that anyone who has seen it could send again (a JWS over the policy, or a " +
		"detached " +
		"signature). This intent, or this service, takes only a uim-agreement+jwt, or calls with a proof of key.",

	PolicyMismatch: "The digest of a policy is \"sha-256:\" and the unpadded base64url of SHA-256 over its RFC 8785 form (JSON " +
		"Canonicalization Scheme: members sorted, no white space), not over the bytes as they are served. It equals the ETag of " +
		"/api/policy without the quotes, so an agent may take it from there. details.policy has the uid and digest offered now, " +
		"details.signed_digest what was signed. Where only the typ of the header or policy.uid is wrong, details.member names it.",
	AgreementReplayed: "A uim-agreement+jwt counts once: its jti was seen before. After an answer was lost, make a new one.",
	AgreementStale:    "iat is more than five minutes from the clock of the service; it is in seconds, not milliseconds.",
	AgreementMisdirected: "htu is missing, or is not the address that agreements are sent to. It is the URL of the issue endpoint as " +
		"agents.json has it (uim-pat-issue), without query and fragment: details.htu. An address of your own for it does not count.",

	BadSignature: "The signature does not verify with the key that came with it (agent_public_key), or with the key agreed to (a " +
		"proof). Usual causes: the bytes signed are not those sent (of a JWS: header, a dot and payload, both in base64url), an ECDSA " +
		"signature in DER where a JWS takes r and s side by side, a kid that is not the thumbprint of the key, or another key.",
	WeakKey: "Keys that others could break are not evidence of an agreement.",
	UnsupportedKey: "agent_public_key takes PEM, a JWK, base64 of the DER SubjectPublicKeyInfo, or the 32 bytes of an Ed25519 key in " +
		"base64url. A private key, a certificate or another curve is refused.",

	RateLimitExceeded: "A limit of the policy, or the token's own, is used up for its period. RateLimit-Policy names the limits, " +
		"RateLimit what is left (r) and when the next place comes free (t, in seconds). A new token or agreement does not reset them. " +
		"Nothing was done or charged.",
	QuotaExceeded: "The limit counts all calls ever made; it has no period after which it would come back.",
	ServiceCeiling: "The operator bounds the calls of all agents together, so that the service behind is not overrun. Nothing was " +
		"done or charged.",

	PolicyRequiresPayment: "The policy charges for the call, and the charge is more than the agent's credit or balance has left. Nothing " +
		"was done or charged. Where details name the deadline of a duty, the time to pay is past, and no payment helps.",

	PolicyConflict: "Two rules contradict each other for this very call, and the policy does not decide between them. The gateway " +
		"denies then.",
	AgentIDTaken: "An agent_id belongs to the first key that agreed under it. details.suggested_agent_id is one that is free for " +
		"your key.",
	KeyTaken: "One key has one agent_id at each service: the one it first agreed under.",
	IdempotencyKeyReused: "An Idempotency-Key identifies one request, with exactly the same intent and parameters, for 24 hours. Repeat " +
		"the " +
		"request as it was, or take a new key for a new one.",
	IdempotencyInProgress: "The first call under this key has not been answered yet. Send the same request with the same key after " +
		"Retry-After; you then get the answer of the first.",
	OutcomeUnknown: "The connection to the service behind broke while the call was under way. Until somebody finds out, the key stays " +
		"bound, so that nothing is done twice. Repeat the same request with the same key later, or ask the operator; a new key might do " +
		"it twice.",
	UpstreamRejected: "The call was permitted and sent, and the service itself refused it: details.upstream has its status and its message. " +
		"It was not charged. error.code has the kind: INVALID_PARAMETER, NOT_FOUND or CONFLICT.",

	MissingParameter: "A parameter that the intent requires was not sent. Each entry of details.violations has a pointer (RFC 6901, " +
		"into the whole body), the keyword, a message and the limit. Nothing was done, counted or charged.",
	InvalidParameter: "A value, or another member of the request, is not what is asked for: of another type, for example. Where there " +
		"are details.violations, each has a pointer (RFC 6901, into the whole body), the keyword of JSON Schema, a message and the " +
		"limit.",
	InvalidFormat: "A text does not have the format or match the pattern that the intent asks for, such as date (2026-01-31) or " +
		"date-time (2026-01-31T09:30:00Z). Formats are checked.",
	ParameterTooLong:    "A text has too many characters, or a list or object too many entries.",
	ParameterTooShort:   "A text has too few characters, or a list or object too few entries.",
	ParameterOutOfRange: "A number is below or above what the intent takes, or no multiple of what it asks for.",
	InvalidEnumValue:    "The intent does not list the value; details.violations has those that it lists.",
	UnknownParameter: "The intent has no parameter of this name: details.violations lists those it has and the nearest one. Or a " +
		"parameter is beside parameters in the body; it belongs inside that object.",

	IntentNotFound: "The uid (namespace:name:version) is of no intent of this service. A host may offer several services: each has " +
		"its own agents.json.",
	VersionConflict:  "The namespace and name are right; the version is not among those offered.",
	IntentDeprecated: "The intent was retired. details.replaced_by, where it is there, names the one to use instead.",

	StoreUnavailable: "The gateway answers for limits and charges, so it does nothing that it cannot write down, or whose token it " +
		"cannot check for revocation. That usually passes within seconds.",
	BreakerOpen: "After several failures in a row the gateway stops calling the service behind for a while, so that it can " +
		"recover.",
	Overloaded: "Too many calls, signatures or bytes were under way at once, of all agents or of this one. Wait, then send fewer " +
		"at a time.",
	GrantExpired: "Between the permission to call and the call itself too much time passed. Nothing was sent, counted or charged.",
	UpstreamBusy: "The service behind answered 429. Nothing was charged.",
	UpstreamTimeout: "The service behind took longer than the operator allows. details.outcome is not_sent, failed, done or unknown. " +
		"With an Idempotency-Key repeat the same request with the same key: what was done is not done again.",
	UpstreamUnreachable: "No connection to the service behind could be made. details.outcome is usually not_sent: nothing was done or " +
		"charged.",
	UpstreamError: "The service behind answered with an error of its own, or broke off. details.outcome shows whether the call may " +
		"have taken effect: not_sent, failed, done or unknown.",
	ResponseInvalid: "The service behind did the call, but its answer lacks an output that the intent requires. Do not repeat it: it " +
		"would be done twice.",

	MalformedRequest: "The body is not JSON, names a member twice, has a member that is not known here, or lacks one. An execute body " +
		"is {\"intent_uid\": \"…\", \"parameters\": {…}}. details.pointer, or line and column, is the place.",
	BodyTooLarge:         "details.max_bytes is the most that is read here, in bytes.",
	UnsupportedMediaType: "Bodies are JSON in UTF-8, not compressed, and labelled so: Content-Type: application/json.",
	MethodNotAllowed:     "The path exists; the method does not. Calls and agreements are POST, documents GET.",
	NoSuchPath:           "agents.json names every endpoint of the service; openapi.json describes them.",
	OriginNotAllowed: "According to the browser (the header Origin), a page of another site sent the request, or the request came to this machine " +
		"under a name that is not the service's. A page that somebody happens to open must not use what the browser can reach. The " +
		"operator lists further origins in services[].doors.mcp.origins.",
	UnknownHost: "The gateway chooses the service by the Host header alone, and none answers to this one. Use the address that " +
		"agents.json publishes.",
	TooManyConnections: "The address of the sender asked more often than the operator allows, before anything was looked at.",
	RequestTimeout:     "The header came, the body did not, not all of it.",
	Internal: "Something went wrong that should not. The request id (UIM-Request-ID, details.request_id) finds it in the " +
		"operator's log. details.outcome, if present, shows whether a call may have taken effect.",
}
