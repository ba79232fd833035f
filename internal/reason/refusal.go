package reason

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
)

// A Refusal is the response that an agent receives instead of a result. It lets the agent correct its mistake, and reveals no internals of
// the service behind the gateway. A Refusal is plain data; each protocol renders it in its own format. See UIM core, section 3.3.
type Refusal struct { //nolint:errname // a Refusal is a response, not only an error
	Reason     Reason
	Code       Code // the code of Reason; for UpstreamRejected, one of several
	Message    string
	Details    map[string]any // in addition to reason and uim_code; an entry named suggestion replaces the suggestion of the table
	RetryAfter time.Duration  // time until the same request may succeed; 0: unknown
	Charge     *Charge        // the charge or possible charge of the refused call; nil if nothing was charged
	Standing   []limit.Status
	// Terms describes how the agent can pay, and Settlement describes the outcome of a payment that came with the request. Both are JSON
	// x402 documents, and may be nil.
	Terms, Settlement []byte
	Shed              Cause // why a valid request was shed; empty: the request is invalid, or the refusal is counted elsewhere
	Replayed          bool  // the response was stored under the same idempotency key; this request executed nothing
	cause             error
}

// A Charge is the amount that an agent owes, or may owe, for one call.
type Charge struct {
	money.Amount
	ExecutionID string
	State       string // captured, released or pending
	Receipt     string // signed entry of the ledger, a compact JWS: see package evidence; empty: none
}

// Refusal returns a Refusal for r with the given message or, if message is empty, with the message of the table. If the table does not
// contain r, the Refusal is for Internal.
func (r Reason) Refusal(message string) *Refusal {
	if !r.Known() {
		r = Internal
	}
	if message == "" {
		message = r.Message()
	}
	return &Refusal{Reason: r, Code: r.Code(), Message: message}
}

// Error returns the reason and the message.
func (f *Refusal) Error() string { return string(f.Reason) + ": " + f.Message }

// Unwrap returns the error that caused the Refusal. The text of that error is for the log, not for agents.
func (f *Refusal) Unwrap() error { return f.cause }

// Status returns the HTTP status of f.Code.
func (f *Refusal) Status() int {
	if f.Code == f.Reason.Code() {
		return f.Reason.Status()
	}
	switch f.Code {
	case CodeInvalidParameter:
		return http.StatusBadRequest
	case CodeNotFound:
		return http.StatusNotFound
	case CodeConflict:
		return http.StatusConflict
	default:
		return Internal.Status()
	}
}

// RetrySeconds returns RetryAfter in whole seconds, rounded up to at least 1, so that a request after that time is not too early. See RFC
// 9110, section 10.2.3.
func (f *Refusal) RetrySeconds() int64 {
	return max(1, int64((f.RetryAfter+time.Second-1)/time.Second))
}

// Suggestion returns advice for the agent on how to continue: the entry suggestion of Details, or the suggestion of the table. In the
// latter, it replaces references to Retry-After and to members of details with their values. If details has no violations, the text does
// not refer to them.
func (f *Refusal) Suggestion() string {
	if own, ok := f.Details["suggestion"].(string); ok {
		return own
	}
	suggestion := f.Reason.Suggestion()
	if f.Details["violations"] == nil && strings.Contains(suggestion, "details.violations") {
		return "Correct the problem that the message describes."
	}
	complete := true
	filled := pointed.ReplaceAllStringFunc(suggestion, func(pointer string) string {
		name := strings.TrimPrefix(pointer, "details.")
		value, ok := f.Details[name]
		switch {
		case name == "violations":
			return pointer
		case !ok:
			complete = false
		}
		return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(value), "[]")), ", ")
	})
	if complete {
		suggestion = filled
	}
	wait, in := "a while", "later"
	if f.RetryAfter > 0 {
		wait = f.Wait()
		in = "in " + wait
	}
	return strings.NewReplacer("for the time in Retry-After", wait, "after the time in Retry-After", in).Replace(suggestion)
}

// pointed matches the references to details in a suggestion of the table.
var pointed = regexp.MustCompile(`details\.[a-z_]+`)

// Wait returns RetryAfter in words, such as "12 seconds", with the rounding of RetrySeconds.
func (f *Refusal) Wait() string {
	if n := f.RetrySeconds(); n > 1 {
		return strconv.FormatInt(n, 10) + " seconds"
	}
	return "1 second"
}

// With adds one detail, and returns f.
func (f *Refusal) With(name string, value any) *Refusal {
	if f.Details == nil {
		f.Details = map[string]any{}
	}
	f.Details[name] = value
	return f
}

// After sets RetryAfter, and returns f.
func (f *Refusal) After(d time.Duration) *Refusal {
	f.RetryAfter = d
	return f
}

// Because sets the error that caused the Refusal, for the log, and returns f.
func (f *Refusal) Because(err error) *Refusal {
	f.cause = err
	return f
}

// WithCode replaces the code of the reason, and returns f. Only UpstreamRejected has several codes.
func (f *Refusal) WithCode(c Code) *Refusal {
	f.Code = c
	return f
}

// Charged sets the charge of the refused call (nil: none), and returns f.
func (f *Refusal) Charged(c *Charge) *Refusal {
	f.Charge = c
	return f
}

// Standings sets the state of each limit of the call, and returns f.
func (f *Refusal) Standings(limits []limit.Status) *Refusal {
	f.Standing = limits
	return f
}
