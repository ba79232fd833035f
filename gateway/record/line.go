package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl"
)

// A Line is one record of the audit stream.
type Line struct {
	At          time.Time      `json:"at"`
	RequestID   string         `json:"request_id,omitempty"`
	Door        string         `json:"door,omitempty"`
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
	// FactsSHA256 names the facts that Facts replaces with the SHA-256 of their JSON, because their values came from parameters.
	FactsSHA256 []string `json:"facts_sha256,omitempty"`
	// Request holds request, world and dutyMode in the format that uimgate policy decide reads.
	Request *odrl.Reproduction `json:"asked,omitempty"`

	// Stop describes what an operator has stopped or resumed. It is nil if the line is not about a stop. If the stop concerns every
	// service, Service is empty.
	Stop *StopLine `json:"stop,omitempty"`
	// Change describes a change that an operator made. It is nil if the line is not about a change. If the change does not concern a single
	// service, Service is empty.
	Change *ChangeLine `json:"change,omitempty"`
	// Signing is what a skill of the service's agent proposed to sign; nil: the line is not about a signature.
	Signing *SigningLine `json:"signing,omitempty"`

	Parameters       json.RawMessage `json:"parameters,omitempty"`
	ParametersSHA256 Digest          `json:"parameters_sha256,omitzero"`
}

// A Digest is a SHA-256 digest. JSON represents it as hexadecimal digits. The zero value means that there is no digest.
type Digest [sha256.Size]byte

// MarshalText implements encoding.TextMarshaler.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("a SHA-256 must have %d hexadecimal digits", hex.EncodedLen(len(d)))
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// AppendJSON appends the record as JSON. It returns an error if a value cannot be encoded.
func (l *Line) AppendJSON(out []byte) ([]byte, error) {
	w := strictjson.NewWriter(out)
	w.Time("at", l.At)
	w.Optional("request_id", l.RequestID)
	w.Optional("door", l.Door)
	w.Text("service", l.Service)
	w.Optional("agent", l.Agent)
	w.Optional("jti", l.Token)
	w.Optional("agreement", l.Agreement)
	w.Optional("policy_digest", l.Digest)
	w.Optional("intent", l.Intent)
	w.Text("decision", l.Decision)
	w.Optional("rule", l.Rule)
	w.Optional("reason", string(l.Reason))
	w.Optional("outcome", l.Outcome)
	w.Optional("execution", l.ExecutionID)
	w.Optional("charge", l.Charge)
	w.Optional("charge_state", l.ChargeState)
	w.True("replayed", l.Replayed)
	w.Texts("duties", l.Duties)
	w.Object("facts", l.Facts)
	w.Texts("facts_sha256", l.FactsSHA256)
	if l.Request != nil {
		w.Append("asked", l.Request.AppendJSON)
	}
	member(&w, "stop", l.Stop)
	member(&w, "change", l.Change)
	member(&w, "signing", l.Signing)
	w.JSON("parameters", l.Parameters)
	if l.ParametersSHA256 != (Digest{}) {
		w.Hex("parameters_sha256", l.ParametersSHA256[:])
	}
	return w.End()
}

func member[T any](w *strictjson.Writer, name string, value *T) {
	if value != nil {
		w.Append(name, func(out []byte) ([]byte, error) {
			text, err := json.Marshal(value)
			return append(out, text...), err
		})
	}
}

// Begun is the Decision of a line that the gateway wrote before it made the call, because audit.required is set: the policy permits the
// call. Another line with the same request id has the outcome. If there is no such line, the process ended before the call did, or that
// line was lost.
const Begun = "begun"

// line returns the record of an event. If values is true, the record contains the parameters as they were sent; otherwise it contains their
// digest. line overwrites scratch, but the record does not refer to it.
func line(v *execute.Event, values bool, scratch []byte) Line {
	r := Line{
		At: v.At.UTC(), RequestID: string(v.RequestID), Door: v.Door, Service: v.Service, Agent: v.AgentID, Token: v.TokenID,
		Agreement: v.AgreementID, Digest: v.Digest, Intent: v.Intent, Decision: v.Decision, Rule: v.Rule, Reason: v.Reason,
		Outcome: string(v.Outcome), ExecutionID: v.ExecutionID, Replayed: v.Replayed, Duties: v.Duties, Facts: v.Facts, Request: v.Reproduction,
	}
	if v.Charge != nil {
		r.ExecutionID, r.Charge, r.ChargeState = v.Charge.ExecutionID, v.Charge.String(), v.Charge.State
	}
	if text, err := strictjson.AppendForHTML(scratch[:0], v.Parameters); err == nil && v.Parameters != nil {
		if values {
			r.Parameters = bytes.Clone(text)
		} else {
			r.ParametersSHA256 = sha256.Sum256(text)
		}
	}
	if len(v.FromParameters) > 0 && !values {
		r.Facts, r.FactsSHA256 = odrl.Hidden(v.Facts, v.FromParameters)
		if r.Request != nil {
			request := r.Request.Hiding(v.FromParameters)
			r.Request = &request
		}
	}
	return r
}
