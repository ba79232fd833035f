package reason

// The reasons. See UIM core, section 3.3; UIM reference, error codes.
const (
	// The PAT, 401. See UIM core, sections 4.3 and 4.5.
	MissingToken Reason = "MISSING_TOKEN"
	InvalidToken Reason = "INVALID_TOKEN"
	ExpiredToken Reason = "EXPIRED_TOKEN"
	RevokedToken Reason = "REVOKED_TOKEN"

	// Refusals by the policy, the scope or the operator, 403.
	InsufficientPermissions    Reason = "INSUFFICIENT_PERMISSIONS"
	ScopeExceeded              Reason = "SCOPE_EXCEEDED"
	PolicyViolation            Reason = "POLICY_VIOLATION"
	PolicyExpired              Reason = "POLICY_EXPIRED"
	PolicyNotApplicable        Reason = "POLICY_NOT_APPLICABLE"
	PolicyRequiresAgreement    Reason = "POLICY_REQUIRES_AGREEMENT"
	PolicyRequiresVerification Reason = "POLICY_REQUIRES_VERIFICATION"
	ProofReplayed              Reason = "PROOF_REPLAYED"
	AgentBlocked               Reason = "AGENT_BLOCKED"
	FreshAgreementRequired     Reason = "FRESH_AGREEMENT_REQUIRED"
	BudgetExceeded             Reason = "BUDGET_EXCEEDED"
	ConfirmationRequired       Reason = "CONFIRMATION_REQUIRED"
	PlanRequired               Reason = "PLAN_REQUIRED"

	// Agreements that the service does not accept, 403. See UIM core, section 4.2.
	PolicyMismatch       Reason = "POLICY_MISMATCH"
	AgreementReplayed    Reason = "AGREEMENT_REPLAYED"
	AgreementStale       Reason = "AGREEMENT_STALE"
	AgreementMisdirected Reason = "AGREEMENT_MISDIRECTED"

	// Keys and signatures, 400.
	BadSignature   Reason = "BAD_SIGNATURE"
	WeakKey        Reason = "WEAK_KEY"
	UnsupportedKey Reason = "UNSUPPORTED_KEY"

	// Limits, 429.
	RateLimitExceeded Reason = "RATE_LIMIT_EXCEEDED"
	QuotaExceeded     Reason = "QUOTA_EXCEEDED"
	ServiceCeiling    Reason = "SERVICE_CEILING"
	RestoredLimits    Reason = "RESTORED_LIMITS"

	// Charges, 402.
	PolicyRequiresPayment Reason = "POLICY_REQUIRES_PAYMENT"
	NewcomersExhausted    Reason = "NEWCOMERS_EXHAUSTED"
	PaymentMismatch       Reason = "PAYMENT_MISMATCH"
	PaymentFailed         Reason = "PAYMENT_FAILED"

	// Conflicts with the state of the service, 409.
	PolicyConflict        Reason = "POLICY_CONFLICT"
	AgentIDTaken          Reason = "AGENT_ID_TAKEN"
	KeyTaken              Reason = "KEY_TAKEN"
	IdempotencyKeyReused  Reason = "IDEMPOTENCY_KEY_REUSED"
	IdempotencyInProgress Reason = "IDEMPOTENCY_IN_PROGRESS"
	OutcomeUnknown        Reason = "OUTCOME_UNKNOWN"
	PaymentUsed           Reason = "PAYMENT_USED"
	PaymentUnknown        Reason = "PAYMENT_UNKNOWN"
	UpstreamRejected      Reason = "UPSTREAM_REJECTED"

	// Parameters, 400. See UIM core, section 3.1.1.
	MissingParameter    Reason = "MISSING_PARAMETER"
	InvalidParameter    Reason = "INVALID_PARAMETER"
	InvalidFormat       Reason = "INVALID_FORMAT"
	ParameterTooLong    Reason = "PARAMETER_TOO_LONG"
	ParameterTooShort   Reason = "PARAMETER_TOO_SHORT"
	ParameterOutOfRange Reason = "PARAMETER_OUT_OF_RANGE"
	InvalidEnumValue    Reason = "INVALID_ENUM_VALUE"
	UnknownParameter    Reason = "UNKNOWN_PARAMETER"
	UnknownPlan         Reason = "UNKNOWN_PLAN"

	// Intents, 404, 400 and 410.
	IntentNotFound   Reason = "INTENT_NOT_FOUND"
	VersionConflict  Reason = "VERSION_CONFLICT"
	IntentDeprecated Reason = "INTENT_DEPRECATED"

	// Entries of the ledger, 404 and 410.
	ReceiptNotFound Reason = "RECEIPT_NOT_FOUND"
	EvidenceExpired Reason = "EVIDENCE_EXPIRED"
	NotLoggedYet    Reason = "NOT_LOGGED_YET"

	// Failures of the gateway or the upstream, 502 to 504.
	Stopped             Reason = "STOPPED"
	StoreUnavailable    Reason = "STORE_UNAVAILABLE"
	BreakerOpen         Reason = "BREAKER_OPEN"
	Overloaded          Reason = "OVERLOADED"
	GrantExpired        Reason = "GRANT_EXPIRED"
	UpstreamBusy        Reason = "UPSTREAM_BUSY"
	UpstreamTimeout     Reason = "UPSTREAM_TIMEOUT"
	UpstreamUnreachable Reason = "UPSTREAM_UNREACHABLE"
	UpstreamError       Reason = "UPSTREAM_ERROR"
	ResponseInvalid     Reason = "RESPONSE_INVALID"

	// Requests that fail before the gateway has determined the intent, and internal errors.
	MalformedRequest     Reason = "MALFORMED_REQUEST"
	BodyTooLarge         Reason = "BODY_TOO_LARGE"
	UnsupportedMediaType Reason = "UNSUPPORTED_MEDIA_TYPE"
	MethodNotAllowed     Reason = "METHOD_NOT_ALLOWED"
	NoSuchPath           Reason = "NO_SUCH_PATH"
	UnknownHost          Reason = "UNKNOWN_HOST"
	OriginNotAllowed     Reason = "ORIGIN_NOT_ALLOWED"
	TooManyConnections   Reason = "TOO_MANY_CONNECTIONS"
	RequestTimeout       Reason = "REQUEST_TIMEOUT"
	Internal             Reason = "INTERNAL"

	// Reasons that only the admin API returns, to operators.
	HostNotAllowed  Reason = "HOST_NOT_ALLOWED"
	NoSuchRecord    Reason = "NO_SUCH_RECORD"
	UnknownService  Reason = "UNKNOWN_SERVICE"
	ServiceMissing  Reason = "SERVICE_MISSING"
	AlreadySettled  Reason = "ALREADY_SETTLED"
	ReferenceUsed   Reason = "REFERENCE_USED"
	PeriodForgotten Reason = "PERIOD_FORGOTTEN"
	EvidenceInvalid Reason = "EVIDENCE_INVALID"
	ConfigRefused   Reason = "CONFIG_REFUSED"
	NotOffered      Reason = "NOT_OFFERED"
	PolicyNotSaved  Reason = "POLICY_NOT_SAVED"
)

// The codes: the values of error.code in the envelope. See UIM core, section 3.3.
const (
	CodeUnauthorized          Code = "UNAUTHORIZED"
	CodeForbidden             Code = "FORBIDDEN"
	CodePolicyRejected        Code = "POLICY_REJECTED"
	CodeInvalidSignature      Code = "INVALID_SIGNATURE"
	CodeTooManyRequests       Code = "TOO_MANY_REQUESTS"
	CodePaymentRequired       Code = "PAYMENT_REQUIRED"
	CodeConflict              Code = "CONFLICT"
	CodeInvalidParameter      Code = "INVALID_PARAMETER"
	CodeNotFound              Code = "NOT_FOUND"
	CodeVersionConflict       Code = "VERSION_CONFLICT"
	CodeIntentDeprecated      Code = "INTENT_DEPRECATED"
	CodeGone                  Code = "GONE"
	CodeServiceUnavailable    Code = "SERVICE_UNAVAILABLE"
	CodeGatewayTimeout        Code = "GATEWAY_TIMEOUT"
	CodeBadGateway            Code = "BAD_GATEWAY"
	CodeIntentExecutionFailed Code = "INTENT_EXECUTION_FAILED"
	CodePayloadTooLarge       Code = "PAYLOAD_TOO_LARGE"
	CodeUnsupportedMediaType  Code = "UNSUPPORTED_MEDIA_TYPE"
	CodeMethodNotAllowed      Code = "METHOD_NOT_ALLOWED"
	CodeRequestTimeout        Code = "REQUEST_TIMEOUT"
	CodeInternalServerError   Code = "INTERNAL_SERVER_ERROR"
	CodeConfigurationRefused  Code = "CONFIGURATION_REFUSED"
)
