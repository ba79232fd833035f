package gateway

import "net/http"

// A Reason is the exact cause of a refusal, told to agents as details.reason.
type Reason string

// A verdict is what a Reason means on the wire: the protocol's code, the HTTP status, the number the
// UIM reference gives the cause (empty: none), and what the agent can do about it.
type verdict struct {
	code       string
	status     int
	uim        string
	suggestion string
}

// reasons is the one table of what agents are told. UIM core 3.3; UIM reference, error codes.
var reasons = map[Reason]verdict{
	"MISSING_TOKEN": {"UNAUTHORIZED", http.StatusUnauthorized, "AUT-003", "Agree to the policy at /api/pat/issue and send the PAT as Authorization: Bearer <PAT>."},
	"INVALID_TOKEN": {"UNAUTHORIZED", http.StatusUnauthorized, "AUT-001", "Send the PAT exactly as this service issued it, or agree to the policy again for a new one."},
	"EXPIRED_TOKEN": {"UNAUTHORIZED", http.StatusUnauthorized, "AUT-002", "Renew the PAT at /api/pat/renew before it expires, or agree to the policy again."},
	"REVOKED_TOKEN": {"UNAUTHORIZED", http.StatusUnauthorized, "", "This PAT was ended. Agree to the policy again for a new one."},

	"INSUFFICIENT_PERMISSIONS":     {"FORBIDDEN", http.StatusForbidden, "AUZ-001", "Ask only for intents that the policy permits you; GET /api/policy shows them."},
	"SCOPE_EXCEEDED":               {"FORBIDDEN", http.StatusForbidden, "AUZ-002", "Agree to the policy again and ask for this intent in scope."},
	"POLICY_VIOLATION":             {"FORBIDDEN", http.StatusForbidden, "POL-002", "The policy prohibits this call; GET /api/policy shows the rule."},
	"POLICY_EXPIRED":               {"FORBIDDEN", http.StatusForbidden, "POL-004", "The agreed policy no longer applies. Fetch the current one and agree to it."},
	"POLICY_NOT_APPLICABLE":        {"FORBIDDEN", http.StatusForbidden, "POL-005", "No permission of the policy covers this call as it stands; details say what was not met."},
	"POLICY_REQUIRES_AGREEMENT":    {"FORBIDDEN", http.StatusForbidden, "POL-007", "The policy has changed. Fetch it, and agree to it if it suits you."},
	"POLICY_REQUIRES_VERIFICATION": {"FORBIDDEN", http.StatusForbidden, "POL-010", "Sign the call: send a uim-proof+jwt by the agreed key as header UIM-Proof."},
	"PROOF_REPLAYED":               {"FORBIDDEN", http.StatusForbidden, "", "Make a new proof, with a new jti, for each call."},
	"AGENT_BLOCKED":                {"FORBIDDEN", http.StatusForbidden, "", "The operator has blocked this agent; ask them."},
	"FRESH_AGREEMENT_REQUIRED":     {"FORBIDDEN", http.StatusForbidden, "", "Agree with a uim-agreement+jwt that names the policy, this service, the time and a nonce."},

	"POLICY_MISMATCH":    {"POLICY_REJECTED", http.StatusForbidden, "POL-003", "Fetch the policy again and sign exactly that one."},
	"AGREEMENT_REPLAYED": {"POLICY_REJECTED", http.StatusForbidden, "", "Make a new agreement, with a new jti."},
	"AGREEMENT_STALE":    {"POLICY_REJECTED", http.StatusForbidden, "", "Make a new agreement now, and check your clock."},

	"BAD_SIGNATURE":   {"INVALID_SIGNATURE", http.StatusBadRequest, "AUT-004", "Sign with the private key that belongs to agent_public_key."},
	"WEAK_KEY":        {"INVALID_SIGNATURE", http.StatusBadRequest, "", "Use Ed25519, ECDSA P-256, or RSA of 2048 to 8192 bits."},
	"UNSUPPORTED_KEY": {"INVALID_SIGNATURE", http.StatusBadRequest, "", "Send an Ed25519, ECDSA P-256 or RSA public key as PEM, JWK or base64 of its DER."},

	"RATE_LIMIT_EXCEEDED": {"TOO_MANY_REQUESTS", http.StatusTooManyRequests, "AUZ-004", "Wait as long as Retry-After says."},
	"QUOTA_EXCEEDED":      {"TOO_MANY_REQUESTS", http.StatusTooManyRequests, "AUZ-005", "This limit does not come back; ask the operator."},
	"SERVICE_CEILING":     {"TOO_MANY_REQUESTS", http.StatusTooManyRequests, "", "All agents together reached what the service takes; wait as long as Retry-After says."},

	"POLICY_REQUIRES_PAYMENT": {"PAYMENT_REQUIRED", http.StatusPaymentRequired, "POL-008", "The charge is more than your credit or balance covers; settle with the operator."},

	"POLICY_CONFLICT":         {"CONFLICT", http.StatusConflict, "POL-006", "The policy permits and prohibits this call at once; tell the operator."},
	"AGENT_ID_TAKEN":          {"CONFLICT", http.StatusConflict, "", "Choose another agent_id, or ask the operator to add your key to it."},
	"KEY_TAKEN":               {"CONFLICT", http.StatusConflict, "", "Use the agent_id this key already has, or another key."},
	"IDEMPOTENCY_KEY_REUSED":  {"CONFLICT", http.StatusConflict, "", "Use a new Idempotency-Key for a different request."},
	"IDEMPOTENCY_IN_PROGRESS": {"CONFLICT", http.StatusConflict, "", "The first call is still running; repeat it shortly."},
	"OUTCOME_UNKNOWN":         {"CONFLICT", http.StatusConflict, "", "Nobody knows yet whether the first call took effect; the operator will resolve it."},
	"UPSTREAM_REJECTED":       {"", 0, "", "The service itself refused the call; its message says why."},

	"MISSING_PARAMETER":      {"INVALID_PARAMETER", http.StatusBadRequest, "VAL-001", "Send the parameters that details.violations names."},
	"INVALID_PARAMETER":      {"INVALID_PARAMETER", http.StatusBadRequest, "VAL-002", "Correct what details.violations names."},
	"INVALID_FORMAT":         {"INVALID_PARAMETER", http.StatusBadRequest, "VAL-003", "Correct what details.violations names."},
	"PARAMETER_TOO_LONG":     {"INVALID_PARAMETER", http.StatusBadRequest, "VAL-006", "Shorten what details.violations names."},
	"PARAMETER_TOO_SHORT":    {"INVALID_PARAMETER", http.StatusBadRequest, "VAL-007", "Lengthen what details.violations names."},
	"PARAMETER_OUT_OF_RANGE": {"INVALID_PARAMETER", http.StatusBadRequest, "VAL-008", "Keep to the limits that details.violations names."},
	"INVALID_ENUM_VALUE":     {"INVALID_PARAMETER", http.StatusBadRequest, "VAL-009", "Choose one of the values that details.violations lists."},
	"UNKNOWN_PARAMETER":      {"INVALID_PARAMETER", http.StatusBadRequest, "", "Leave out or rename what details.violations names."},

	"INTENT_NOT_FOUND":     {"NOT_FOUND", http.StatusNotFound, "INT-001", "GET /api/intents/search lists the intents."},
	"VERSION_CONFLICT":     {"VERSION_CONFLICT", http.StatusBadRequest, "", "Use one of the versions that details.versions lists."},
	"INTENT_DEPRECATED":    {"INTENT_DEPRECATED", http.StatusGone, "", "Use the intent that details.replaced_by names."},
	"STORE_UNAVAILABLE":    {"SERVICE_UNAVAILABLE", http.StatusServiceUnavailable, "SRV-007", "Nothing was done or charged. Try again after Retry-After."},
	"BREAKER_OPEN":         {"SERVICE_UNAVAILABLE", http.StatusServiceUnavailable, "SRV-002", "The service behind is failing; nothing was done or charged. Try again after Retry-After."},
	"UPSTREAM_BUSY":        {"SERVICE_UNAVAILABLE", http.StatusServiceUnavailable, "", "The service behind asks for a pause. Try again after Retry-After."},
	"UPSTREAM_TIMEOUT":     {"GATEWAY_TIMEOUT", http.StatusGatewayTimeout, "INT-003", "details.outcome says whether the call may have taken effect."},
	"UPSTREAM_UNREACHABLE": {"BAD_GATEWAY", http.StatusBadGateway, "SRV-004", "details.outcome says whether the call may have taken effect."},
	"UPSTREAM_ERROR":       {"INTENT_EXECUTION_FAILED", http.StatusBadGateway, "INT-002", "details.outcome says whether the call may have taken effect."},
	"RESPONSE_INVALID":     {"INTENT_EXECUTION_FAILED", http.StatusBadGateway, "", "The call took effect, but its answer does not fit the intent; tell the operator. Nothing was charged."},

	// Requests that are wrong before any intent is known.
	"MALFORMED_REQUEST":      {"INVALID_PARAMETER", http.StatusBadRequest, "", "Send one JSON object as the intent asks for it."},
	"BODY_TOO_LARGE":         {"PAYLOAD_TOO_LARGE", http.StatusRequestEntityTooLarge, "", "Send a smaller body."},
	"UNSUPPORTED_MEDIA_TYPE": {"UNSUPPORTED_MEDIA_TYPE", http.StatusUnsupportedMediaType, "", "Send Content-Type: application/json."},
	"METHOD_NOT_ALLOWED":     {"METHOD_NOT_ALLOWED", http.StatusMethodNotAllowed, "", "Use one of the methods that the Allow header lists."},
	"NO_SUCH_PATH":           {"NOT_FOUND", http.StatusNotFound, "", "GET /agents.json shows where things are."},
	"UNKNOWN_HOST":           {"NOT_FOUND", http.StatusNotFound, "", "Call the service by the host name it publishes."},
	"TOO_MANY_CONNECTIONS":   {"TOO_MANY_REQUESTS", http.StatusTooManyRequests, "", "Too many requests from this address. Wait as long as Retry-After says."},
	"REQUEST_TIMEOUT":        {"REQUEST_TIMEOUT", http.StatusRequestTimeout, "", "Send the request faster."},
	"INTERNAL":               {"INTERNAL_SERVER_ERROR", http.StatusInternalServerError, "", "This is our fault; tell the operator the UIM-Request-ID."},
}
