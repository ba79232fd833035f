package record

import (
	"time"

	"github.com/uimgate/uimgate/pat"
)

// The values of Decision in lines about stops.
const (
	StopBegan = "stop"
	StopEnded = "resume"
)

// A StopLine is the member stop of an audit record: what an operator has stopped or resumed, and the operator.
type StopLine struct {
	By      string `json:"by"`
	Kind    string `json:"kind"`
	Subject string `json:"subject,omitempty"`
	Why     string `json:"why,omitempty"` // the reason for the stop
}

// RecordStop records that an operator has stopped something or has resumed it: decision is StopBegan or StopEnded. When RecordStop returns,
// the record is in the file, unless the file cannot be written.
func (a *Audit) RecordStop(at time.Time, decision string, s pat.Stop, by string) {
	line := Line{
		At: at.UTC(), Service: s.Service, Decision: decision,
		Stop: &StopLine{Kind: string(s.Kind), Subject: s.Subject, By: by, Why: s.Reason},
	}
	a.appendNow(&line)
}

// appendNow appends a record and writes it to the file.
func (a *Audit) appendNow(line *Line) {
	text, err := line.AppendJSON(nil)
	n, err := a.append(append(text, '\n'), err)
	if err != nil {
		return // append has counted the lost record
	}
	_ = a.flush(n) // flush has logged the error, and Run writes the record later
}
