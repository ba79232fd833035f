package reason

import "net/http"

// A row describes a Reason: its code and HTTP status, the number of the cause in the UIM reference (empty: none), the default message, and
// the suggestion to the agent. operator is the suggestion to an operator; if it is empty, suggestion applies to operators too.
type row struct {
	code       Code
	status     int
	number     string
	message    string
	suggestion string
	operator   string
}

// table is the only definition of the reasons.
var table = map[Reason]row{
	MissingToken: {
		code: CodeUnauthorized, status: http.StatusUnauthorized, number: "AUT-003",
		message:    "No PAT was sent.",
		suggestion: "Agree to the policy at /api/pat/issue, and send the PAT as Authorization: Bearer <PAT>.",
		operator: "Send Authorization: Bearer <token>. The token is in the file admin.token in the data directory, unless the " +
			"configuration sets admin.token.",
	},
	InvalidToken: {
		code: CodeUnauthorized, status: http.StatusUnauthorized, number: "AUT-001",
		message:    "The PAT is not valid here: another service issued it, or its signing key is no longer valid.",
		suggestion: "Send the PAT exactly as this service issued it, or agree to the policy again to get a new PAT.",
		operator:   "The token is in the file admin.token in the data directory, unless the configuration sets admin.token.",
	},
	ExpiredToken: {
		code: CodeUnauthorized, status: http.StatusUnauthorized, number: "AUT-002",
		message:    "The PAT has expired.",
		suggestion: "Agree to the policy again. A PAT can be renewed at /api/pat/renew only before it expires.",
	},
	RevokedToken: {
		code: CodeUnauthorized, status: http.StatusUnauthorized,
		message:    "The PAT was revoked.",
		suggestion: "Agree to the policy again to get a new PAT.",
	},

	InsufficientPermissions: {
		code: CodeForbidden, status: http.StatusForbidden, number: "AUZ-001",
		message: "The operator of this service has not admitted this agent.",
		suggestion: "Request only intents that the policy permits you (GET /api/policy returns the policy), or ask the operator to admit " +
			"this agent.",
	},
	ScopeExceeded: {
		code: CodeForbidden, status: http.StatusForbidden, number: "AUZ-002",
		message:    "The scope of the PAT does not include this intent.",
		suggestion: "Agree to the policy again, and include this intent in scope.",
	},
	PolicyViolation: {
		code: CodeForbidden, status: http.StatusForbidden, number: "POL-002",
		message:    "The policy does not permit this call.",
		suggestion: "A rule of the policy prohibits this call. GET /api/policy returns the policy.",
	},
	PolicyExpired: {
		code: CodeForbidden, status: http.StatusForbidden, number: "POL-004",
		message:    "The agreed policy no longer applies.",
		suggestion: "Fetch the current policy and agree to it.",
	},
	PolicyNotApplicable: {
		code: CodeForbidden, status: http.StatusForbidden, number: "POL-005",
		message:    "The policy does not permit this call.",
		suggestion: "No permission of the policy covers this call. GET /api/policy returns the policy.",
	},
	PolicyRequiresAgreement: {
		code: CodeForbidden, status: http.StatusForbidden, number: "POL-007",
		message:    "The service no longer offers the policy that you agreed to.",
		suggestion: "Fetch the current policy, and agree to it if its terms are acceptable to you.",
	},
	PolicyRequiresVerification: {
		code: CodeForbidden, status: http.StatusForbidden, number: "POL-010",
		message:    "This request requires a proof of key.",
		suggestion: "Create a uim-proof+jwt for this request, sign it with the agreed key, and send it in the UIM-Proof header.",
	},
	ProofReplayed: {
		code: CodeForbidden, status: http.StatusForbidden,
		message:    "This proof was already used.",
		suggestion: "Create a new proof, with a new jti, for each call.",
	},
	AgentBlocked: {
		code: CodeForbidden, status: http.StatusForbidden,
		message:    "The agent is blocked.",
		suggestion: "Ask the operator to unblock this agent.",
	},
	FreshAgreementRequired: {
		code: CodeForbidden, status: http.StatusForbidden,
		message: "This request requires an agreement that cannot be replayed.",
		suggestion: "Agree with a uim-agreement+jwt. It states the policy, this service, the URL to which it is sent, the time and a " +
			"nonce.",
	},
	BudgetExceeded: {
		code: CodeForbidden, status: http.StatusForbidden,
		message:    "The call costs more than what is left of the budget that the person gave this client.",
		suggestion: "Wait until details.until, or ask the person to raise the budget at details.consents_url.",
	},
	ConfirmationRequired: {
		code: CodeForbidden, status: http.StatusForbidden,
		message: "A person must confirm this call.",
		suggestion: "Ask the person to open details.confirm_url in the browser in which they permitted this client. Then repeat the same call: " +
			"over UIM, with the token of that page as the UIM-Confirmation header.",
	},
	PlanRequired: {
		code: CodeForbidden, status: http.StatusForbidden,
		message: "The agreement does not choose a plan that includes this intent.",
		suggestion: "Agree again with one of details.plans: as plan in the request, and as declared.plan in a fresh agreement that you sign. " +
			"Static agreements and agreements by negotiation cannot choose a plan.",
	},

	PolicyMismatch: {
		code: CodePolicyRejected, status: http.StatusForbidden, number: "POL-003",
		message: "The signed policy is not the one that the service offers now.",
		suggestion: "Fetch the policy again and sign exactly that policy. Its digest is sha-256: followed by the unpadded base64url of the " +
			"SHA-256 of its RFC 8785 form, and equals the ETag of /api/policy.",
	},
	AgreementReplayed: {
		code: CodePolicyRejected, status: http.StatusForbidden,
		message:    "This agreement was already used.",
		suggestion: "Create a new agreement, with a new jti.",
	},
	AgreementStale: {
		code: CodePolicyRejected, status: http.StatusForbidden,
		message:    "The time in the agreement is not within five minutes of the current time.",
		suggestion: "Check your clock, and create a new agreement.",
	},
	AgreementMisdirected: {
		code: CodePolicyRejected, status: http.StatusForbidden,
		message:    "The agreement was made for another address or service.",
		suggestion: "Create a new agreement with the issuer of this service as aud and the URL to which you send it as htu.",
	},

	BadSignature: {
		code: CodeInvalidSignature, status: http.StatusBadRequest, number: "AUT-004",
		message:    "The signature does not verify with the key.",
		suggestion: "Sign with the private key that belongs to agent_public_key.",
	},
	WeakKey: {
		code: CodeInvalidSignature, status: http.StatusBadRequest,
		message:    "The key is too weak to serve as evidence.",
		suggestion: "Use Ed25519, ECDSA P-256, or RSA with 2048 to 4096 bits and the exponent 65537.",
	},
	UnsupportedKey: {
		code: CodeInvalidSignature, status: http.StatusBadRequest,
		message:    "The key cannot be read, or its type is not supported.",
		suggestion: "Send an Ed25519, ECDSA P-256 or RSA public key as PEM, as a JWK, or as base64 of its DER form.",
	},

	RateLimitExceeded: {
		code: CodeTooManyRequests, status: http.StatusTooManyRequests, number: "AUZ-004",
		message:    "The limit is exhausted.",
		suggestion: "Wait for the time in Retry-After.",
	},
	QuotaExceeded: {
		code: CodeTooManyRequests, status: http.StatusTooManyRequests, number: "AUZ-005",
		message:    "All calls that this limit allows have been made.",
		suggestion: "This limit never resets. Ask the operator for more calls.",
	},
	ServiceCeiling: {
		code: CodeTooManyRequests, status: http.StatusTooManyRequests,
		message:    "All agents together have reached the limit of the service.",
		suggestion: "Wait for the time in Retry-After.",
	},
	RestoredLimits: {
		code: CodeTooManyRequests, status: http.StatusTooManyRequests,
		message:    "The limit is held back, because the state of the service was restored from a backup.",
		suggestion: "Wait for the time in Retry-After, or ask the operator.",
	},

	PolicyRequiresPayment: {
		code: CodePaymentRequired, status: http.StatusPaymentRequired, number: "POL-008",
		message:    "The charge for this call exceeds the agent's remaining credit or balance.",
		suggestion: "Arrange a payment with the operator.",
	},
	NewcomersExhausted: {
		code: CodePaymentRequired, status: http.StatusPaymentRequired,
		message:    "The credit that all agents without the operator's approval share is used up.",
		suggestion: "Pay in advance, ask the operator to approve the agent, or repeat the call after the time in Retry-After.",
	},
	PaymentMismatch: {
		code: CodePaymentRequired, status: http.StatusPaymentRequired,
		message:    "The payment does not meet the terms of the service. It was not taken.",
		suggestion: "Pay under the terms in the PAYMENT-REQUIRED header of this response.",
	},
	PaymentFailed: {
		code: CodePaymentRequired, status: http.StatusPaymentRequired,
		message: "The payment failed.",
		suggestion: "Correct what details.error_reason names, and make a new payment under the terms in the PAYMENT-REQUIRED header of this " +
			"response.",
	},

	PolicyConflict: {
		code: CodeConflict, status: http.StatusConflict, number: "POL-006",
		message:    "The policy does not permit this call.",
		suggestion: "The policy both permits and prohibits this call. Report the conflict to the operator.",
	},
	PaymentUsed: {
		code: CodeConflict, status: http.StatusConflict,
		message:    "Another payment has the same reference.",
		suggestion: "Give each payment a reference of its own.",
	},
	PaymentUnknown: {
		code: CodeConflict, status: http.StatusConflict,
		message:    "It is not known yet whether a payment of the agent was settled.",
		suggestion: "Do not pay again. Repeat the same request after the time in Retry-After.",
	},
	AgentIDTaken: {
		code: CodeConflict, status: http.StatusConflict,
		message:    "The agent_id belongs to another key.",
		suggestion: "Choose another agent_id, or ask the operator to add your key to this one.",
	},
	KeyTaken: {
		code: CodeConflict, status: http.StatusConflict,
		message:    "The key belongs to another agent_id.",
		suggestion: "Use the agent_id that this key already has, or use another key.",
	},
	IdempotencyKeyReused: {
		code: CodeConflict, status: http.StatusConflict,
		message:    "The Idempotency-Key was already used for a different request.",
		suggestion: "Use a new Idempotency-Key for each new request.",
	},
	IdempotencyInProgress: {
		code: CodeConflict, status: http.StatusConflict,
		message:    "The call with this Idempotency-Key is still in progress.",
		suggestion: "Repeat the same request shortly, with the same Idempotency-Key.",
	},
	OutcomeUnknown: {
		code: CodeConflict, status: http.StatusConflict,
		message: "The outcome of the call with this Idempotency-Key is unknown.",
		suggestion: "The call may have taken effect, so do not send it again with a new key. Repeat the same request later, or ask the " +
			"operator for the outcome.",
	},
	UpstreamRejected: {
		code: CodeConflict, status: http.StatusConflict,
		message:    "The service behind the gateway rejected the call.",
		suggestion: "If the service states a reason, correct the call accordingly.",
	},

	MissingParameter: {
		code: CodeInvalidParameter, status: http.StatusBadRequest, number: "VAL-001",
		message:    "The parameters are not valid for this intent.",
		suggestion: "Add the parameters that details.violations names.",
	},
	InvalidParameter: {
		code: CodeInvalidParameter, status: http.StatusBadRequest, number: "VAL-002",
		message:    "The parameters are not valid for this intent.",
		suggestion: "Correct the values that details.violations names.",
	},
	InvalidFormat: {
		code: CodeInvalidParameter, status: http.StatusBadRequest, number: "VAL-003",
		message:    "The parameters are not valid for this intent.",
		suggestion: "Correct the values that details.violations names.",
	},
	ParameterTooLong: {
		code: CodeInvalidParameter, status: http.StatusBadRequest, number: "VAL-006",
		message:    "The parameters are not valid for this intent.",
		suggestion: "Shorten the values that details.violations names.",
	},
	ParameterTooShort: {
		code: CodeInvalidParameter, status: http.StatusBadRequest, number: "VAL-007",
		message:    "The parameters are not valid for this intent.",
		suggestion: "Lengthen the values that details.violations names.",
	},
	ParameterOutOfRange: {
		code: CodeInvalidParameter, status: http.StatusBadRequest, number: "VAL-008",
		message:    "The parameters are not valid for this intent.",
		suggestion: "Keep the values within the limits that details.violations names.",
	},
	InvalidEnumValue: {
		code: CodeInvalidParameter, status: http.StatusBadRequest, number: "VAL-009",
		message:    "The parameters are not valid for this intent.",
		suggestion: "Choose one of the values that details.violations lists.",
	},
	UnknownPlan: {
		code: CodeInvalidParameter, status: http.StatusBadRequest,
		message:    "The policy has no such plan.",
		suggestion: "Choose one of details.plans, and sign it as declared.plan of the agreement.",
	},
	UnknownParameter: {
		code: CodeInvalidParameter, status: http.StatusBadRequest,
		message:    "The parameters are not valid for this intent.",
		suggestion: "Remove or rename the parameters that details.violations names.",
	},

	IntentNotFound: {
		code: CodeNotFound, status: http.StatusNotFound, number: "INT-001",
		message:    "This service has no such intent.",
		suggestion: "GET /api/intents/search lists the intents of this service.",
	},
	VersionConflict: {
		code: CodeVersionConflict, status: http.StatusBadRequest,
		message:    "The intent exists, but not in this version.",
		suggestion: "Use one of these versions: details.versions.",
	},
	IntentDeprecated: {
		code: CodeIntentDeprecated, status: http.StatusGone,
		message:    "This intent is no longer offered.",
		suggestion: "Use this intent instead: details.replaced_by.",
	},

	ReceiptNotFound: {
		code: CodeNotFound, status: http.StatusNotFound,
		message:    "This agent has no such charge or entry.",
		suggestion: "The UIM-Charge header of a response contains the execution id. GET /api/usage/entries lists the entries of the account.",
	},
	EvidenceExpired: {
		code: CodeGone, status: http.StatusGone,
		message:    "The entry was deleted, because its retention period has passed.",
		suggestion: "The entry with the k of details.carry has the sums of the deleted entries. Keep your receipts.",
	},
	NotLoggedYet: {
		code: CodeNotFound, status: http.StatusNotFound,
		message:    "The entry is not in the log yet.",
		suggestion: "Repeat the request after the time in Retry-After. An entry is in the log within the number of seconds in uim-mmd of agents.json.",
	},

	Stopped: {
		code: CodeServiceUnavailable, status: http.StatusServiceUnavailable,
		message:    "The operator of this service has stopped requests like this one for the time being.",
		suggestion: "Nothing was done or charged. Try again after the time in Retry-After. Agreements and PATs stay valid in the meantime.",
	},
	StoreUnavailable: {
		code: CodeServiceUnavailable, status: http.StatusServiceUnavailable, number: "SRV-007",
		message:    "The gateway cannot record requests at the moment, so it does not execute them.",
		suggestion: "Nothing was done or charged. Try again after the time in Retry-After.",
	},
	BreakerOpen: {
		code: CodeServiceUnavailable, status: http.StatusServiceUnavailable, number: "SRV-002",
		message:    "The service behind the gateway has failed repeatedly, so the gateway has paused calls to it.",
		suggestion: "Nothing was done or charged. Try again after the time in Retry-After.",
	},
	Overloaded: {
		code: CodeServiceUnavailable, status: http.StatusServiceUnavailable,
		message:    "The gateway is overloaded.",
		suggestion: "Nothing was done or charged. Try again after the time in Retry-After.",
	},
	GrantExpired: {
		code: CodeServiceUnavailable, status: http.StatusServiceUnavailable,
		message:    "The call was delayed for too long, so the gateway did not send it.",
		suggestion: "Nothing was done or charged. Try again after the time in Retry-After.",
	},
	UpstreamBusy: {
		code: CodeServiceUnavailable, status: http.StatusServiceUnavailable,
		message:    "The service behind the gateway accepts no more calls at the moment.",
		suggestion: "Nothing was charged. Try again after the time in Retry-After.",
	},
	UpstreamTimeout: {
		code: CodeGatewayTimeout, status: http.StatusGatewayTimeout, number: "INT-003",
		message: "The service behind the gateway did not respond in time.",
		suggestion: "The outcome of the call is details.outcome. If it is unknown, repeat the same request with the same Idempotency-Key, and " +
			"never with a new one; an intent that only reads can be called again.",
	},
	UpstreamUnreachable: {
		code: CodeBadGateway, status: http.StatusBadGateway, number: "SRV-004",
		message: "The service behind the gateway cannot be reached.",
		suggestion: "The outcome of the call is details.outcome. If it is unknown, repeat the same request with the same Idempotency-Key, and " +
			"never with a new one; an intent that only reads can be called again.",
	},
	UpstreamError: {
		code: CodeIntentExecutionFailed, status: http.StatusBadGateway, number: "INT-002",
		message: "The service behind the gateway failed.",
		suggestion: "The outcome of the call is details.outcome. If it is unknown, repeat the same request with the same Idempotency-Key, and " +
			"never with a new one; an intent that only reads can be called again.",
	},
	ResponseInvalid: {
		code: CodeIntentExecutionFailed, status: http.StatusBadGateway,
		message: "The response of the service cannot be used.",
		suggestion: "The call took effect, so do not repeat it. Report the unusable response to the operator. details.charge has the charge, " +
			"if there is one.",
	},

	MalformedRequest: {
		code: CodeInvalidParameter, status: http.StatusBadRequest,
		message:    "The request is malformed.",
		suggestion: "Correct the problem that the message describes, and send the request again.",
	},
	BodyTooLarge: {
		code: CodePayloadTooLarge, status: http.StatusRequestEntityTooLarge,
		message:    "The body is larger than this gateway accepts.",
		suggestion: "Send a smaller body.",
	},
	UnsupportedMediaType: {
		code: CodeUnsupportedMediaType, status: http.StatusUnsupportedMediaType,
		message:    "The body must be JSON in UTF-8.",
		suggestion: "Send Content-Type: application/json.",
	},
	MethodNotAllowed: {
		code: CodeMethodNotAllowed, status: http.StatusMethodNotAllowed,
		message:    "This path does not support this method.",
		suggestion: "Use one of the methods that the Allow header lists.",
	},
	NoSuchPath: {
		code: CodeNotFound, status: http.StatusNotFound,
		message:    "This path does not exist.",
		suggestion: "GET /agents.json lists the endpoints of the service.",
		operator:   "The paths of the admin API start with /admin/v1/. Begin with GET /admin/v1/status.",
	},
	UnknownHost: {
		code: CodeNotFound, status: http.StatusNotFound,
		message:    "No service of this gateway has this host name.",
		suggestion: "Call the service by the host name that it publishes.",
	},
	OriginNotAllowed: {
		code: CodeForbidden, status: http.StatusForbidden,
		message:    "Web pages of this origin may not use this endpoint.",
		suggestion: "Call the endpoint from a program or from a page of the service itself. The operator can allow other origins.",
	},
	TooManyConnections: {
		code: CodeTooManyRequests, status: http.StatusTooManyRequests,
		message:    "This address sent too many requests.",
		suggestion: "Wait for the time in Retry-After.",
	},
	RequestTimeout: {
		code: CodeRequestTimeout, status: http.StatusRequestTimeout,
		message:    "The body did not arrive in time.",
		suggestion: "Send the whole body without pauses.",
	},
	Internal: {
		code: CodeInternalServerError, status: http.StatusInternalServerError,
		message:    "The gateway failed to handle the request.",
		suggestion: "This is a fault in the gateway. Report the UIM-Request-ID to the operator.",
	},

	HostNotAllowed: {
		code: CodeForbidden, status: http.StatusForbidden,
		message: "The admin API accepts only an IP address, localhost or a name in admin.hosts as Host.",
		suggestion: "Call the admin API by its IP address or as localhost, or list the name in admin.hosts; with server.tls, call it over https. " +
			"From another machine, you can also use an SSH tunnel.",
	},
	NoSuchRecord: {
		code: CodeNotFound, status: http.StatusNotFound,
		message:    "There is no such record.",
		suggestion: "Find the id of the record in the listing. Ids must match exactly, and each record belongs to one service.",
	},
	UnknownService: {
		code: CodeNotFound, status: http.StatusNotFound,
		message:    "This gateway has no such service.",
		suggestion: "Set the query parameter service to one of details.services.",
	},
	ServiceMissing: {
		code: CodeInvalidParameter, status: http.StatusBadRequest,
		message:    "This gateway has several services, and the request names none of them.",
		suggestion: "Set the query parameter service to one of details.services.",
	},
	AlreadySettled: {
		code: CodeConflict, status: http.StatusConflict,
		message:    "The execution is not, or is no longer, unresolved.",
		suggestion: "Only an execution in the state unresolved can be resolved, and only once.",
	},
	ReferenceUsed: {
		code: CodeConflict, status: http.StatusConflict,
		message:    "This reference belongs to another top-up.",
		suggestion: "Find the reference in the ledger. Each top-up needs its own reference.",
	},
	PeriodForgotten: {
		code: CodeInvalidParameter, status: http.StatusUnprocessableEntity,
		message: "The ledger no longer contains this period.",
		suggestion: "Start the period at details.kept or later. The opening balance includes all earlier entries. billing.retain sets how " +
			"long entries are kept.",
	},
	EvidenceInvalid: {
		code: CodeInternalServerError, status: http.StatusInternalServerError,
		message:    "The evidence of this agreement does not verify.",
		suggestion: "The database is damaged, or another program changed it. Compare it with a backup.",
	},
	ConfigRefused: {
		code: CodeConfigurationRefused, status: http.StatusUnprocessableEntity,
		message:    "The gateway rejected the new configuration.",
		suggestion: "Correct the problems that details.problems lists. Until then, the gateway continues to use its current configuration.",
	},
	PolicyNotSaved: {
		code: CodeConflict, status: http.StatusConflict,
		message: "The file of the policy was not replaced.",
		suggestion: "If the file was changed, read it again and repeat your edit. If it cannot be written, replace it in its source, " +
			"such as the ConfigMap, and reload.",
	},
	NotOffered: {
		code: CodeNotFound, status: http.StatusNotFound,
		message:    "This process cannot reload its configuration.",
		suggestion: "Restart the gateway instead.",
	},
}
