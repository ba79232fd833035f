package gateway

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// An Audit writes one line of JSON for each decision: who asked for what under which agreement, what
// was decided by which rule on which facts. It is a stream of its own, apart from the log. The parameters
// of a call are written as the SHA-256 of their JSON, with sorted members, unless the operator asks for
// the values.
//
// Records are buffered for up to a second; the ledger, not this stream, is what charges rest on.
type Audit struct {
	mu     sync.Mutex
	out    *bufio.Writer
	values bool
	failed error
}

// NewAudit writes to out; with values, parameters are written as they were sent.
func NewAudit(out io.Writer, values bool) *Audit {
	return &Audit{out: bufio.NewWriterSize(out, 64<<10), values: values}
}

type auditRecord struct {
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
	Reason      Reason         `json:"reason,omitempty"`
	Outcome     string         `json:"outcome,omitempty"`
	ExecutionID string         `json:"execution,omitempty"`
	Charge      string         `json:"charge,omitempty"`
	ChargeState string         `json:"charge_state,omitempty"`
	Replayed    bool           `json:"replayed,omitempty"`
	Duties      []string       `json:"duties,omitempty"`
	Facts       map[string]any `json:"facts,omitempty"`

	Parameters       json.RawMessage `json:"parameters,omitempty"`
	ParametersSHA256 string          `json:"parameters_sha256,omitempty"`
}

// Record writes one event.
func (a *Audit) Record(v *Event) {
	r := auditRecord{
		At: v.At.UTC(), RequestID: v.RequestID, Service: v.Service, Agent: v.AgentID, Token: v.TokenID, Agreement: v.AgreementID,
		Digest: v.Digest, Intent: v.Intent, Decision: v.Decision, Rule: v.Rule, Reason: v.Reason, Outcome: string(v.Outcome), Replayed: v.Replayed, Duties: v.Duties, Facts: v.Facts,
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
	line, err := json.Marshal(r)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		_, err = a.out.Write(append(line, '\n'))
	}
	if err != nil && a.failed == nil {
		a.failed = fmt.Errorf("audit record: %w", err)
	}
}

// Flush hands what is buffered to the operating system.
func (a *Audit) Flush() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.out.Flush()
	if a.failed != nil {
		err = a.failed
	}
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
