package reason

import "net/http"

// A row is the meaning of a Reason: its code and HTTP status, the number of the cause in the UIM reference (empty: none), the default
// message, and what the agent can do about it. operator is the suggestion to an operator, if it differs.
type row struct {
	code       Code
	status     int
	number     string
	message    string
	suggestion string
	operator   string
}

// table is the only place that defines the reasons.
var table = map[Reason]row{
	MissingToken: {
		code: CodeUnauthorized, status: http.StatusUnauthorized, number: "AUT-003",
		message:    "No PAT was sent.",
		suggestion: "Agree to the policy at /api/pat/issue and send the PAT as Authorization: Bearer <PAT>.",
		operator:   "Send Authorization: Bearer <token>; it is in admin.token in the data directory unless admin.token is configured.",
	},
	InvalidToken: {
		code: CodeUnauthorized, status: http.StatusUnauthorized, number: "AUT-001",
		message:    "The PAT is not one this service issued.",
		suggestion: "Send the PAT exactly as this service issued it, or agree to the policy again for a new one.",
		operator:   "The token is in admin.token in the data directory unless admin.token is configured.",
	},
	ExpiredToken: {
		code: CodeUnauthorized, status: http.StatusUnauthorized, number: "AUT-002",
		message:    "The PAT has expired.",
		suggestion: "Renew the PAT at /api/pat/renew before it expires, or agree to the policy again.",
	},
	RevokedToken: {
		code: CodeUnauthorized, status: http.StatusUnauthorized,
		message:    "The PAT was revoked.",
		suggestion: "This PAT was ended. Agree to the policy again for a new one.",
	},

	InsufficientPermissions: {
		code: CodeForbidden, status: http.StatusForbidden, number: "AUZ-001",
		message:    "The service admits only agents its operator knows.",
		suggestion: "Ask only for intents that the policy permits you; GET /api/policy shows them.",
	},
	ScopeExceeded: {
		code: CodeForbidden, status: http.StatusForbidden, number: "AUZ-002",
		message:    "The PAT's scope does not hold this intent.",
		suggestion: "Agree to the policy again and ask for this intent in scope.",
	},
	PolicyViolation: {
		code: CodeForbidden, status: http.StatusForbidden, number: "POL-002",
		message:    "The policy does not permit this call.",
		suggestion: "The policy prohibits this call; GET /api/policy shows the rule.",
	},
	PolicyExpired: {
		code: CodeForbidden, status: http.StatusForbidden, number: "POL-004",
		message:    "The agreed policy no longer applies.",
		suggestion: "The agreed policy no longer applies. Fetch the current one and agree to it.",
	},
	PolicyNotApplicable: {
		code: CodeForbidden, status: http.StatusForbidden, number: "POL-005",
		message:    "The policy does not permit this call.",
		suggestion: "No permission of the policy covers this call; details have the conditions that it does not meet.",
	},
	PolicyRequiresAgreement: {
		code: CodeForbidden, status: http.StatusForbidden, number: "POL-007",
		message:    "The policy agreed to is no longer the one offered.",
		suggestion: "The policy has changed. Fetch it, and agree to it if it suits you.",
	},
	PolicyRequiresVerification: {
		code: CodeForbidden, status: http.StatusForbidden, number: "POL-010",
		message:    "Without a proof of key this is not done.",
		suggestion: "Sign the call: send a uim-proof+jwt by the agreed key as header UIM-Proof.",
	},
	ProofReplayed: {
		code: CodeForbidden, status: http.StatusForbidden,
		message:    "This proof was used before.",
		suggestion: "Make a new proof, with a new jti, for each call.",
	},
	AgentBlocked: {
		code: CodeForbidden, status: http.StatusForbidden,
		message:    "The agent is blocked.",
		suggestion: "The operator has blocked this agent; ask them.",
	},
	FreshAgreementRequired: {
		code: CodeForbidden, status: http.StatusForbidden,
		message:    "Only an agreement that cannot be replayed is accepted for this.",
		suggestion: "Agree with a uim-agreement+jwt that names the policy, this service, the URL it is sent to, the time and a nonce.",
	},

	PolicyMismatch: {
		code: CodePolicyRejected, status: http.StatusForbidden, number: "POL-003",
		message: "The signed policy is not the one offered now.",
		suggestion: "Fetch the policy again and sign exactly that one. Its digest is sha-256: and the unpadded base64url of SHA-256 over its " +
			"RFC 8785 form, equal to the ETag of /api/policy.",
	},
	AgreementReplayed: {
		code: CodePolicyRejected, status: http.StatusForbidden,
		message:    "This agreement was used before.",
		suggestion: "Make a new agreement, with a new jti.",
	},
	AgreementStale: {
		code: CodePolicyRejected, status: http.StatusForbidden,
		message:    "The agreement was not made within five minutes of now.",
		suggestion: "Make a new agreement now, and check your clock.",
	},
	AgreementMisdirected: {
		code: CodePolicyRejected, status: http.StatusForbidden,
		message:    "The agreement was made out to another address or service.",
		suggestion: "Make a new agreement with this service's issuer as aud and the URL it is sent to as htu.",
	},

	BadSignature: {
		code: CodeInvalidSignature, status: http.StatusBadRequest, number: "AUT-004",
		message:    "The signature does not verify with the key.",
		suggestion: "Sign with the private key that belongs to agent_public_key.",
	},
	WeakKey: {
		code: CodeInvalidSignature, status: http.StatusBadRequest,
		message:    "The key is too weak to be evidence.",
		suggestion: "Use Ed25519, ECDSA P-256, or RSA of 2048 to 4096 bits with the exponent 65537.",
	},
	UnsupportedKey: {
		code: CodeInvalidSignature, status: http.StatusBadRequest,
		message:    "The key cannot be read, or is of no kind that is accepted.",
		suggestion: "Send an Ed25519, ECDSA P-256 or RSA public key as PEM, JWK or base64 of its DER.",
	},

	RateLimitExceeded: {
		code: CodeTooManyRequests, status: http.StatusTooManyRequests, number: "AUZ-004",
		message:    "The limit is used up.",
		suggestion: "Wait for the time in Retry-After.",
	},
	QuotaExceeded: {
		code: CodeTooManyRequests, status: http.StatusTooManyRequests, number: "AUZ-005",
		message:    "All calls that were agreed are used up.",
		suggestion: "This limit does not come back; ask the operator.",
	},
	ServiceCeiling: {
		code: CodeTooManyRequests, status: http.StatusTooManyRequests,
		message:    "All agents together have used up what the service takes.",
		suggestion: "All agents together have reached the limit of the service; wait for the time in Retry-After.",
	},

	PolicyRequiresPayment: {
		code: CodePaymentRequired, status: http.StatusPaymentRequired, number: "POL-008",
		message:    "The charge for this call is more than is left to the agent.",
		suggestion: "The charge is more than your credit or balance covers; settle with the operator.",
	},

	PolicyConflict: {
		code: CodeConflict, status: http.StatusConflict, number: "POL-006",
		message:    "The policy does not permit this call.",
		suggestion: "The policy permits and prohibits this call at once; report it to the operator.",
	},
	AgentIDTaken: {
		code: CodeConflict, status: http.StatusConflict,
		message:    "The agent_id belongs to another key.",
		suggestion: "Choose another agent_id, or ask the operator to add your key to it.",
	},
	KeyTaken: {
		code: CodeConflict, status: http.StatusConflict,
		message:    "The key belongs to another agent_id.",
		suggestion: "Use the agent_id this key already has, or another key.",
	},
	IdempotencyKeyReused: {
		code: CodeConflict, status: http.StatusConflict,
		message:    "The Idempotency-Key was used for a different request.",
		suggestion: "Use a new Idempotency-Key for a different request.",
	},
	IdempotencyInProgress: {
		code: CodeConflict, status: http.StatusConflict,
		message:    "The call under this Idempotency-Key is still running.",
		suggestion: "The first call is still running; repeat it shortly.",
	},
	OutcomeUnknown: {
		code: CodeConflict, status: http.StatusConflict,
		message:    "It is not known how the call under this Idempotency-Key ended.",
		suggestion: "It is unknown whether the first call took effect; the operator will resolve it.",
	},
	UpstreamRejected: {
		code: CodeConflict, status: http.StatusConflict,
		message:    "The service rejected the call.",
		suggestion: "The service itself refused the call; its message has the reason.",
	},

	MissingParameter: {
		code: CodeInvalidParameter, status: http.StatusBadRequest, number: "VAL-001",
		message:    "The parameters do not fit the intent.",
		suggestion: "Send the parameters that details.violations names.",
	},
	InvalidParameter: {
		code: CodeInvalidParameter, status: http.StatusBadRequest, number: "VAL-002",
		message:    "The parameters do not fit the intent.",
		suggestion: "Correct what details.violations names.",
	},
	InvalidFormat: {
		code: CodeInvalidParameter, status: http.StatusBadRequest, number: "VAL-003",
		message:    "The parameters do not fit the intent.",
		suggestion: "Correct what details.violations names.",
	},
	ParameterTooLong: {
		code: CodeInvalidParameter, status: http.StatusBadRequest, number: "VAL-006",
		message:    "The parameters do not fit the intent.",
		suggestion: "Shorten what details.violations names.",
	},
	ParameterTooShort: {
		code: CodeInvalidParameter, status: http.StatusBadRequest, number: "VAL-007",
		message:    "The parameters do not fit the intent.",
		suggestion: "Lengthen what details.violations names.",
	},
	ParameterOutOfRange: {
		code: CodeInvalidParameter, status: http.StatusBadRequest, number: "VAL-008",
		message:    "The parameters do not fit the intent.",
		suggestion: "Keep to the limits that details.violations names.",
	},
	InvalidEnumValue: {
		code: CodeInvalidParameter, status: http.StatusBadRequest, number: "VAL-009",
		message:    "The parameters do not fit the intent.",
		suggestion: "Choose one of the values that details.violations lists.",
	},
	UnknownParameter: {
		code: CodeInvalidParameter, status: http.StatusBadRequest,
		message:    "The parameters do not fit the intent.",
		suggestion: "Leave out or rename what details.violations names.",
	},

	IntentNotFound: {
		code: CodeNotFound, status: http.StatusNotFound, number: "INT-001",
		message:    "This service offers no such intent.",
		suggestion: "GET /api/intents/search lists the intents.",
	},
	VersionConflict: {
		code: CodeVersionConflict, status: http.StatusBadRequest,
		message:    "The intent exists, but not in this version.",
		suggestion: "Use one of these versions: details.versions.",
	},
	IntentDeprecated: {
		code: CodeIntentDeprecated, status: http.StatusGone,
		message:    "This intent is no longer offered.",
		suggestion: "Use this intent in its place: details.replaced_by.",
	},

	StoreUnavailable: {
		code: CodeServiceUnavailable, status: http.StatusServiceUnavailable, number: "SRV-007",
		message:    "The gateway cannot write down what it does at the moment, so it does nothing.",
		suggestion: "Nothing was done or charged. Try again after Retry-After.",
	},
	BreakerOpen: {
		code: CodeServiceUnavailable, status: http.StatusServiceUnavailable, number: "SRV-002",
		message:    "The service behind failed too often of late.",
		suggestion: "The service behind is failing; nothing was done or charged. Try again after Retry-After.",
	},
	Overloaded: {
		code: CodeServiceUnavailable, status: http.StatusServiceUnavailable,
		message:    "The gateway has more to do than it can.",
		suggestion: "Nothing was done or charged. Try again after Retry-After.",
	},
	GrantExpired: {
		code: CodeServiceUnavailable, status: http.StatusServiceUnavailable,
		message:    "The call was held up too long to be sent.",
		suggestion: "Nothing was done or charged. Try again after Retry-After.",
	},
	UpstreamBusy: {
		code: CodeServiceUnavailable, status: http.StatusServiceUnavailable,
		message:    "The service behind takes no more calls at the moment.",
		suggestion: "The service behind asks for a pause. Try again after Retry-After.",
	},
	UpstreamTimeout: {
		code: CodeGatewayTimeout, status: http.StatusGatewayTimeout, number: "INT-003",
		message:    "The service behind did not answer in time.",
		suggestion: "Whether the call took effect: details.outcome.",
	},
	UpstreamUnreachable: {
		code: CodeBadGateway, status: http.StatusBadGateway, number: "SRV-004",
		message:    "The service behind cannot be reached.",
		suggestion: "Whether the call took effect: details.outcome.",
	},
	UpstreamError: {
		code: CodeIntentExecutionFailed, status: http.StatusBadGateway, number: "INT-002",
		message:    "The service behind failed.",
		suggestion: "Whether the call took effect: details.outcome.",
	},
	ResponseInvalid: {
		code: CodeIntentExecutionFailed, status: http.StatusBadGateway,
		message:    "The service's answer cannot be used.",
		suggestion: "The call took effect, but its answer does not fit the intent; report it to the operator. Nothing was charged.",
	},

	MalformedRequest: {
		code: CodeInvalidParameter, status: http.StatusBadRequest,
		message:    "The request is not well formed.",
		suggestion: "Correct what the message names and send it again.",
	},
	BodyTooLarge: {
		code: CodePayloadTooLarge, status: http.StatusRequestEntityTooLarge,
		message:    "The body is larger than this gateway takes.",
		suggestion: "Send a smaller body.",
	},
	UnsupportedMediaType: {
		code: CodeUnsupportedMediaType, status: http.StatusUnsupportedMediaType,
		message:    "The body must be JSON in UTF-8.",
		suggestion: "Send Content-Type: application/json.",
	},
	MethodNotAllowed: {
		code: CodeMethodNotAllowed, status: http.StatusMethodNotAllowed,
		message:    "This path does not take this method.",
		suggestion: "Use one of the methods that the Allow header lists.",
	},
	NoSuchPath: {
		code: CodeNotFound, status: http.StatusNotFound,
		message:    "There is nothing at this path.",
		suggestion: "GET /agents.json shows where things are.",
		operator:   "The admin API is under /admin/v1/; /admin/v1/status is a start.",
	},
	UnknownHost: {
		code: CodeNotFound, status: http.StatusNotFound,
		message:    "No service answers to this host name here.",
		suggestion: "Call the service by the host name it publishes.",
	},
	OriginNotAllowed: {
		code: CodeForbidden, status: http.StatusForbidden,
		message:    "Pages of this origin may not use the endpoint.",
		suggestion: "Call it from a program, or from a page of the service itself; the operator can allow other origins.",
	},
	TooManyConnections: {
		code: CodeTooManyRequests, status: http.StatusTooManyRequests,
		message:    "Too many requests from this address.",
		suggestion: "Too many requests from this address. Wait for the time in Retry-After.",
	},
	RequestTimeout: {
		code: CodeRequestTimeout, status: http.StatusRequestTimeout,
		message:    "The body did not arrive in time.",
		suggestion: "Send the request faster.",
	},
	Internal: {
		code: CodeInternalServerError, status: http.StatusInternalServerError,
		message:    "The gateway failed.",
		suggestion: "This is a fault of the gateway; report the UIM-Request-ID to the operator.",
	},

	HostNotAllowed: {
		code: CodeForbidden, status: http.StatusForbidden,
		message:    "The admin API answers only to an IP address or localhost as Host.",
		suggestion: "Call it by address or as localhost, through an SSH tunnel from elsewhere; a program may also send Host: localhost.",
	},
	NoSuchRecord: {
		code: CodeNotFound, status: http.StatusNotFound,
		message:    "There is no such record.",
		suggestion: "Look for it in the listing; ids are exact, and records belong to one service.",
	},
	UnknownService: {
		code: CodeNotFound, status: http.StatusNotFound,
		message:    "This gateway has no such service.",
		suggestion: "Name one of details.services as ?service=.",
	},
	ServiceMissing: {
		code: CodeInvalidParameter, status: http.StatusBadRequest,
		message:    "This gateway has several services: which one?",
		suggestion: "Name one of details.services as ?service=.",
	},
	AlreadySettled: {
		code: CodeConflict, status: http.StatusConflict,
		message:    "The execution is not unresolved (any more).",
		suggestion: "Only executions in state unresolved can be resolved, once.",
	},
	ReferenceUsed: {
		code: CodeConflict, status: http.StatusConflict,
		message:    "This reference belongs to another top-up.",
		suggestion: "Look for the reference in the ledger; give another top-up another one.",
	},
	PeriodForgotten: {
		code: CodeInvalidParameter, status: http.StatusUnprocessableEntity,
		message:    "The ledger no longer holds this period.",
		suggestion: "Begin at details.kept or later; what was before is in the opening balance. billing.retain is how long entries are kept.",
	},
	EvidenceInvalid: {
		code: CodeInternalServerError, status: http.StatusInternalServerError,
		message:    "The evidence of this agreement does not verify.",
		suggestion: "The database was changed from outside, or is damaged: compare with a backup.",
	},
	ConfigRefused: {
		code: CodeConfigurationRefused, status: http.StatusUnprocessableEntity,
		message:    "The configuration was not taken over.",
		suggestion: "Mend what details.problems lists; until then the gateway goes on with the configuration it has.",
	},
	NotOffered: {
		code: CodeNotFound, status: http.StatusNotFound,
		message:    "This process cannot reload its configuration.",
		suggestion: "Restart the gateway instead.",
	},
}
