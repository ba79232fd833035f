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

// A Refusal is what an agent gets instead of a result: enough to correct its mistake, and nothing about what is behind the gateway. It is
// plain data, which each protocol renders in its own form. UIM core 3.3.
type Refusal struct { //nolint:errname // a Refusal is an answer, not only an error
	Reason     Reason
	Code       Code // that of Reason; UpstreamRejected has several
	Message    string
	Details    map[string]any // in addition to reason, uim_code and suggestion; a suggestion here replaces that of the table
	RetryAfter time.Duration  // until the same request may succeed; 0: unknown
	Charge     *Charge        // the charge or possible charge of the refused call; nil if nothing was charged
	Standing   []limit.Status
	Shed       Cause // why a valid request is refused; empty: it is invalid, or the refusal is counted elsewhere
	Replayed   bool  // a stored response under the same idempotency key; nothing was executed now
	cause      error
}

// A Charge is what an agent owes, or may owe, for one call.
type Charge struct {
	money.Amount
	ExecutionID string
	State       string // captured, released or pending
}

// Refusal makes a Refusal with its own message, or with that of the table if message is empty. A Reason that is not in the table makes a
// Refusal of Internal.
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

// Unwrap returns the cause of the Refusal. Its text is for the log, not for agents.
func (f *Refusal) Unwrap() error { return f.cause }

// Status returns the HTTP status of the Code.
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

// RetrySeconds returns RetryAfter in whole seconds, rounded up and at least 1, so that a request after that time is not too early. RFC
// 9110 10.2.3.
func (f *Refusal) RetrySeconds() int64 {
	return max(1, int64((f.RetryAfter+time.Second-1)/time.Second))
}

// Suggestion returns what the agent can do about it: the detail with that name, or the suggestion of the table. In the latter, the
// seconds of RetryAfter and the values of details replace the words that refer to them. It refers to violations only if details has them.
func (f *Refusal) Suggestion() string {
	if own, ok := f.Details["suggestion"].(string); ok {
		return own
	}
	suggestion := f.Reason.Suggestion()
	if f.Details["violations"] == nil && strings.Contains(suggestion, "details.violations") {
		return "Correct what the message names."
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
	return strings.NewReplacer("for the time in Retry-After", wait, "after Retry-After", in).Replace(suggestion)
}

// pointed finds the details that a suggestion of the table refers to.
var pointed = regexp.MustCompile(`details\.[a-z_]+`)

// Wait returns RetryAfter in words, such as "12 seconds".
func (f *Refusal) Wait() string {
	if n := f.RetrySeconds(); n > 1 {
		return strconv.FormatInt(n, 10) + " seconds"
	}
	return "1 second"
}

// With adds one detail.
func (f *Refusal) With(name string, value any) *Refusal {
	if f.Details == nil {
		f.Details = map[string]any{}
	}
	f.Details[name] = value
	return f
}

// After sets how long to wait before the same request is sent again.
func (f *Refusal) After(d time.Duration) *Refusal {
	f.RetryAfter = d
	return f
}

// Because sets the cause of the Refusal, for the log.
func (f *Refusal) Because(err error) *Refusal {
	f.cause = err
	return f
}

// WithCode sets another code than that of the reason; only UpstreamRejected has several.
func (f *Refusal) WithCode(c Code) *Refusal {
	f.Code = c
	return f
}

// Charged sets the charge of the refused call; nil: none.
func (f *Refusal) Charged(c *Charge) *Refusal {
	f.Charge = c
	return f
}

// Standings sets the state of each limit of the call.
func (f *Refusal) Standings(limits []limit.Status) *Refusal {
	f.Standing = limits
	return f
}
