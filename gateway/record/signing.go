package record

import (
	"time"
)

// Values of Line.Decision: the agent of a service has signed a proposal of one of its skills, or has refused to sign it.
const (
	Signed      = "sign"
	SignRefused = "sign_refused"
)

// A SigningLine is the member signing of an audit record: what a skill of the service's agent proposed to sign.
type SigningLine struct {
	Kind   string `json:"kind"`   // message, transaction or state_update
	SHA256 Digest `json:"sha256"` // of the proposal
	Skill  string `json:"skill"`  // id of the skill
}

// RecordSigning records whether the agent of a service has signed what one of its skills proposed. The record is in the file when
// RecordSigning returns, unless the file cannot be written.
func (a *Audit) RecordSigning(at time.Time, service, door, agent string, signed bool, signing SigningLine) {
	line := Line{At: at.UTC(), Service: service, Door: door, Agent: agent, Decision: SignRefused, Signing: &signing}
	if signed {
		line.Decision = Signed
	}
	a.appendNow(&line)
}
