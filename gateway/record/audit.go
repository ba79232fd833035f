package record

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
)

// An Audit writes one line of JSON for each decision: who asked for what under which agreement, what
// was decided by which rule on which facts. It is a stream of its own, apart from the log. The parameters
// of a call are written as the SHA-256 of their JSON, with sorted members, unless the operator asks for
// the values.
//
// Records are buffered for up to a second, and longer where they cannot be written, as far as maxWaiting goes; the
// ledger, not this stream, is what charges rest on.
type Audit struct {
	mu      sync.Mutex
	out     io.Writer
	waiting []byte // whole records, but for what was written of the first
	values  bool
	failed  error // the first since the last Flush
}

const (
	// enough to be handed on at once
	enoughWaiting = 64 << 10
	// maxWaiting bounds what is kept of records while they cannot be written; further ones are lost.
	maxWaiting = 4 << 20
)

var errAuditLost = errors.New("audit records were lost: too many wait to be written")

// NewAudit writes to out; with values, parameters are written as they were sent.
func NewAudit(out io.Writer, values bool) *Audit {
	return &Audit{out: out, values: values}
}

// A Line is one record of the audit stream, as JSON.
type Line struct {
	At          time.Time      `json:"at"`
	RequestID   string         `json:"request_id,omitempty"`
	Service     string         `json:"service"`
	Agent       string         `json:"agent,omitempty"`
	Token       string         `json:"jti,omitempty"`
	Agreement   string         `json:"agreement,omitempty"`
	Digest      string         `json:"policy_digest,omitempty"`
	Intent      string         `json:"intent,omitempty"`
	Decision    string         `json:"decision"`
	Rule        string         `json:"rule,omitempty"`
	Reason      reason.Reason  `json:"reason,omitempty"`
	Outcome     string         `json:"outcome,omitempty"`
	ExecutionID string         `json:"execution,omitempty"`
	Charge      string         `json:"charge,omitempty"`
	ChargeState string         `json:"charge_state,omitempty"`
	Replayed    bool           `json:"replayed,omitempty"`
	Duties      []string       `json:"duties,omitempty"`
	Facts       map[string]any `json:"facts,omitempty"`
	// FactsSHA256 names the facts that stand as the SHA-256 of their JSON: they came from parameters.
	FactsSHA256 []string `json:"facts_sha256,omitempty"`
	// Asked holds request, world and dutyMode as uimgate policy decide takes them.
	Asked *odrl.Reproduction `json:"asked,omitempty"`

	Parameters       json.RawMessage `json:"parameters,omitempty"`
	ParametersSHA256 string          `json:"parameters_sha256,omitempty"`
}

// Record writes one event. A call without a PAT that is accepted is nobody's, and nothing was decided about it: log and
// metrics have it, and strangers do not fill this stream.
func (a *Audit) Record(v *execute.Event) {
	if v.AgentID == "" {
		return
	}
	r := Line{
		At: v.At.UTC(), RequestID: string(v.RequestID), Service: v.Service, Agent: v.AgentID, Token: v.TokenID, Agreement: v.AgreementID,
		Digest: v.Digest, Intent: v.Intent, Decision: v.Decision, Rule: v.Rule, Reason: v.Reason, Outcome: string(v.Outcome),
		Replayed: v.Replayed, Duties: v.Duties, Facts: v.Facts, Asked: v.Asked,
	}
	if v.Charge != nil {
		r.ExecutionID, r.Charge, r.ChargeState = v.Charge.ExecutionID, v.Charge.String(), v.Charge.State
	}
	if text, err := json.Marshal(v.Parameters); err == nil && v.Parameters != nil {
		if a.values {
			r.Parameters = text
		} else {
			sum := sha256.Sum256(text)
			r.ParametersSHA256 = hex.EncodeToString(sum[:])
		}
	}
	if len(v.FromParameters) > 0 && !a.values {
		r.Facts, r.FactsSHA256 = hashed(v.Facts, v.FromParameters)
		if r.Asked != nil {
			asked := *r.Asked
			asked.Question.Context, _ = hashed(asked.Question.Context, v.FromParameters)
			r.Asked = &asked
		}
	}
	line, err := json.Marshal(r)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err != nil:
		a.fail(err)
	case len(a.waiting)+len(line) >= maxWaiting:
		a.fail(errAuditLost)
	default:
		a.waiting = append(append(a.waiting, line...), '\n')
	}
	if len(a.waiting) >= enoughWaiting && a.failed == nil {
		a.write()
	}
}

// hashed replaces the facts that came from the agent by the SHA-256 of their JSON, and names those replaced.
func hashed(facts map[string]any, operands []string) (map[string]any, []string) {
	out, names := maps.Clone(facts), []string{}
	for _, operand := range operands {
		v, read := facts[operand]
		if !read {
			continue
		}
		text, err := json.Marshal(v)
		if err != nil {
			text = nil
		}
		sum := sha256.Sum256(text)
		out[operand] = hex.EncodeToString(sum[:])
		names = append(names, operand)
	}
	return out, names
}

func (a *Audit) fail(err error) {
	if a.failed == nil {
		a.failed = fmt.Errorf("audit record: %w", err)
	}
}

// write hands on what is waiting and keeps what was not taken.
func (a *Audit) write() {
	n, err := a.out.Write(a.waiting)
	a.waiting = a.waiting[:copy(a.waiting, a.waiting[n:])]
	if err != nil {
		a.fail(err)
	}
}

// Flush hands what is buffered to the operating system. Its error is the first since the last Flush; what could not
// be written is tried again by the next.
func (a *Audit) Flush() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) > 0 {
		a.write()
	}
	err := a.failed
	a.failed = nil
	return err
}

// Run flushes every second until ctx ends, and then once more.
func (a *Audit) Run(ctx context.Context, report func(error)) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return a.Flush()
		}
		if err := a.Flush(); err != nil {
			report(err)
		}
	}
}
