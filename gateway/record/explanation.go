package record

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
)

// An Explanation describes how the gateway decided one request. It contains no parameter values and no secrets.
type Explanation struct {
	At        time.Time `json:"at"`
	RequestID string    `json:"request_id"`
	Process   string    `json:"process"`           // the process that handled the request
	Request   string    `json:"request,omitempty"` // method and route of a request that is not a call, such as POST /api/pat/issue
	Door      string    `json:"door,omitempty"`    // empty: UIM over HTTP
	Service   string    `json:"service,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Token     string    `json:"jti,omitempty"`
	Agreement string    `json:"agreement,omitempty"`
	Digest    string    `json:"policy_digest,omitempty"`
	Intent    string    `json:"intent,omitempty"`
	Decision  string    `json:"decision"` // permit or deny
	Rule      string    `json:"rule,omitempty"`

	Reason  reason.Reason `json:"reason,omitempty"`  // for a refusal
	Status  int           `json:"status"`            // the status of the response over HTTP
	Message string        `json:"message,omitempty"` // for a refusal; text of the service is omitted
	Cause   reason.Cause  `json:"cause,omitempty"`   // for a shed request
	// RetryAfter is the number of seconds until the same request may succeed.
	RetryAfter int64 `json:"retry_after,omitempty"`

	TraceID string `json:"trace_id,omitempty"` // of W3C Trace Context; spans are exported only if telemetry is configured

	Steps  []Step   `json:"steps,omitempty"`  // in order; a refused call ends with the step that refused it
	Wanted []string `json:"wanted,omitempty"` // requirements that the request did not meet
	// Found holds the facts that the policy read. FromParameters names the facts whose values came from parameters; these values are not
	// recorded.
	Found          map[string]any `json:"found,omitempty"`
	FromParameters []string       `json:"from_parameters,omitempty"`
	Shortened      bool           `json:"shortened,omitempty"` // Found was too long to record
	Limits         []LimitState   `json:"limits,omitempty"`

	Outcome        string   `json:"outcome,omitempty"`
	UpstreamStatus int      `json:"upstream_status,omitempty"` // 0: there was no response
	UpstreamMillis float64  `json:"upstream_ms,omitempty"`
	ExecutionID    string   `json:"execution,omitempty"`
	Charge         string   `json:"charge,omitempty"`
	ChargeState    string   `json:"charge_state,omitempty"` // when the call ended
	Replayed       bool     `json:"replayed,omitempty"`
	Duties         []string `json:"duties,omitempty"`
}

// A Step is one step of a call, with its duration in milliseconds.
type Step struct {
	Name   string  `json:"step"`
	Millis float64 `json:"ms"`
}

// A LimitState is the state of one limit after the call.
type LimitState struct {
	Limit  string `json:"limit"` // such as 30/minute
	ID     string `json:"id"`
	Left   int64  `json:"left"`
	Resets int64  `json:"resets_s,omitempty"` // seconds until the oldest counted calls no longer count, rounded up
}

// An Exchange is a request that did not go through the steps of a call, such as a request for a PAT, or a call that was refused before the
// first step.
type Exchange struct {
	At        time.Time
	RequestID execute.RequestID
	Request   string // method and route
	Door      string
	Service   string
	Status    int
	Refusal   *reason.Refusal // nil: not refused
	Agreement *agree.Event    // nil: the request does not concern an agreement
	TraceID   string
}

const (
	// maxWanted is the maximum number of requirements in an Explanation.
	maxWanted = 8
	// maxPhrase is the maximum length of a string in an Explanation, in bytes.
	maxPhrase = 512
	// maxExplanation is the maximum length of the JSON of an Explanation, in bytes. A longer Explanation is recorded without Found.
	maxExplanation = 8 << 10
)

// explain describes a call.
func explain(v *execute.Event) Explanation {
	x := Explanation{
		At: v.At.UTC(), RequestID: string(v.RequestID), Door: v.Door, Service: v.Service, Agent: v.AgentID, Token: v.TokenID,
		Agreement: v.AgreementID, Digest: v.Digest, Intent: v.Intent, Decision: v.Decision, Rule: v.Rule, Status: 200,
		Steps: stepsOf(v), Outcome: string(v.Outcome), UpstreamStatus: v.Status, UpstreamMillis: millis(v.Upstream),
		TraceID: v.Span.TraceID(), ExecutionID: v.ExecutionID, Replayed: v.Replayed, Duties: v.Duties, Limits: limitStates(v.Limits),
	}
	for _, operand := range slices.Sorted(maps.Keys(v.Facts)) {
		if slices.Contains(v.FromParameters, operand) {
			x.FromParameters = append(x.FromParameters, operand)
			continue
		}
		if x.Found == nil {
			x.Found = map[string]any{}
		}
		x.Found[operand] = v.Facts[operand]
	}
	if v.Wanted != "" {
		x.Wanted = append(x.Wanted, phrase(v.Wanted))
	}
	if v.Charge != nil {
		x.ExecutionID, x.Charge, x.ChargeState = v.Charge.ExecutionID, v.Charge.String(), v.Charge.State
	}
	if v.Refusal != nil {
		x.refused(v.Refusal)
	}
	return x
}

// explainExchange describes a request that is not a call.
func explainExchange(h *Exchange) Explanation {
	x := Explanation{
		At: h.At.UTC(), RequestID: string(h.RequestID), Request: h.Request, Door: h.Door, Service: h.Service,
		Decision: "permit", Status: h.Status, TraceID: h.TraceID,
	}
	if a := h.Agreement; a != nil {
		x.Agent, x.Token, x.Agreement, x.Digest = string(a.AgentID), string(a.TokenID), string(a.AgreementID), a.Digest
		if a.Pending {
			x.Decision, x.Wanted = "pending", []string{"the approval of the operator"}
		}
	}
	if h.Refusal != nil {
		x.Decision = "deny"
		x.refused(h.Refusal)
		x.Status = h.Status
	}
	return x
}

// refused adds a refusal. It omits the message if the refusal comes from the service, because that message may repeat parameter values.
func (x *Explanation) refused(f *reason.Refusal) {
	x.Reason, x.Status, x.Cause = f.Reason, f.Status(), f.Shed
	x.Message = phrase(f.Message)
	if f.Reason == reason.UpstreamRejected {
		x.Message = f.Reason.Message()
	}
	if f.RetryAfter > 0 {
		x.RetryAfter = f.RetrySeconds()
	}
	if scope, ok := f.Details["scope_needed"].(string); ok {
		x.Wanted = append(x.Wanted, phrase("scope "+scope))
	}
	for _, v := range refusal.Violations(f) {
		x.Wanted = append(x.Wanted, phrase(v.String()))
	}
	x.Wanted = x.Wanted[:min(len(x.Wanted), maxWanted)]
	if len(x.Limits) == 0 {
		x.Limits = limitStates(f.Standing)
	}
}

// phrase shortens a string to maxPhrase bytes.
func phrase(text string) string {
	if len(text) <= maxPhrase {
		return text
	}
	return text[:maxPhrase] + "…"
}

// stepsOf returns the steps that a call reached.
func stepsOf(v *execute.Event) (list []Step) {
	ends := v.Took
	for s := execute.Settle; s >= execute.Authenticate; s-- {
		began, reached := v.Steps.Began(s)
		if !reached {
			continue
		}
		list = append(list, Step{s.String(), millis(ends - began)})
		ends = began
	}
	slices.Reverse(list)
	return list
}

// millis returns a duration in milliseconds, rounded to microseconds.
func millis(d time.Duration) float64 { return float64(max(0, d).Microseconds()) / 1000 }

func limitStates(standing []limit.Status) (list []LimitState) {
	for _, s := range standing {
		list = append(list, LimitState{s.String(), phrase(s.ID), s.Left, int64((s.Shown(s.Resets) + time.Second - 1) / time.Second)})
	}
	return list
}

// encode returns the JSON of an Explanation, of at most about maxExplanation bytes. It returns nil if the Explanation cannot be encoded.
func (x *Explanation) encode() []byte {
	text, err := json.Marshal(x)
	if err == nil && len(text) <= maxExplanation {
		return text
	}
	x.Found, x.Shortened = nil, true
	if text, err = json.Marshal(x); err != nil {
		return nil
	}
	return text
}
