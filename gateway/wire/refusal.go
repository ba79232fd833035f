package gateway

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"time"
)

// A Fault is what an agent is told of a failure: no more than it needs to mend it, and nothing of what
// lies behind the gateway. Every way in answers with it. UIM core 3.3.
type Fault struct { //nolint:errname // a fault is what is told, not only an error
	Reason     Reason
	Code       string // the protocol's symbolic name, such as INVALID_PARAMETER
	Status     int    // HTTP
	Message    string
	Details    map[string]any // beside reason, uim_code and suggestion
	RetryAfter time.Duration  // 0: none
	Header     http.Header    // further header fields of the answer; may be nil
	charge     *Charge        // what the failed call cost, if it got that far
	cause      error          // for the log only
}

// newFault makes a Fault from the table of reasons.
func newFault(reason Reason, message string) *Fault {
	v, ok := reasons[reason]
	if !ok {
		v, reason = reasons["INTERNAL"], "INTERNAL"
	}
	return &Fault{Reason: reason, Code: v.code, Status: v.status, Message: message}
}

func (f *Fault) Error() string { return string(f.Reason) + ": " + f.Message }

// Unwrap returns what led to the Fault. Its text is for the log, not for agents.
func (f *Fault) Unwrap() error { return f.cause }

// with adds one detail.
func (f *Fault) with(name string, value any) *Fault {
	if f.Details == nil {
		f.Details = map[string]any{}
	}
	f.Details[name] = value
	return f
}

func (f *Fault) after(d time.Duration) *Fault {
	f.RetryAfter = d
	return f
}

func (f *Fault) because(err error) *Fault {
	f.cause = err
	return f
}

// envelope is the body of the answer.
func (f *Fault) envelope() []byte {
	details := map[string]any{"reason": f.Reason}
	v := reasons[f.Reason]
	if v.uim != "" {
		details["uim_code"] = "UIM-" + v.uim
	}
	if v.suggestion != "" {
		details["suggestion"] = v.suggestion
	}
	if f.RetryAfter > 0 {
		details["retry_after"] = retrySeconds(f.RetryAfter)
	}
	maps.Copy(details, f.Details)
	body, err := json.Marshal(map[string]any{"error": map[string]any{
		"code": f.Code, "message": f.Message, "details": details,
	}})
	if err != nil {
		return []byte(`{"error":{"code":"INTERNAL_SERVER_ERROR","message":"The answer could not be written.","details":{"reason":"INTERNAL"}}}`)
	}
	return body
}

// retrySeconds rounds up: a client that waits so long finds the door open. RFC 9110 10.2.3.
func retrySeconds(d time.Duration) int64 {
	return max(1, int64((d+time.Second-1)/time.Second))
}

// writeHeader sets what every answer with this Fault carries.
func (f *Fault) writeHeader(h http.Header, issuer string) {
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(retrySeconds(f.RetryAfter), 10))
	}
	if f.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", challenge(f.Reason, issuer))
	}
	maps.Copy(h, f.Header)
}

// challenge is the WWW-Authenticate field of RFC 6750 section 3.
func challenge(reason Reason, issuer string) string {
	c := `Bearer realm=` + strconv.QuoteToASCII(issuer)
	if reason != "MISSING_TOKEN" { // without credentials the challenge tells no error: RFC 6750 3.1
		c += `, error="invalid_token", error_description="` + string(reason) + `"`
	}
	return c
}
