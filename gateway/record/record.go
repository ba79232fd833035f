// Package record writes the outcomes of calls and agreements to the audit stream, the metrics and the log.
package record

import "github.com/uimgate/uimgate/gateway/execute"

// Recorders is a list of recorders. It passes each Event to all of them, in order.
type Recorders []execute.Recorder

// Record implements execute.Recorder.
func (r Recorders) Record(e *execute.Event) {
	for _, one := range r {
		one.Record(e)
	}
}
