// Package record records the outcomes of calls and agreements: as lines of the audit stream, as metrics, and as fields of the log.
package record

import "github.com/uimgate/uimgate/gateway/execute"

// Recorders pass each call to all of them, in order.
type Recorders []execute.Recorder

// Record implements execute.Recorder.
func (r Recorders) Record(e *execute.Event) {
	for _, one := range r {
		one.Record(e)
	}
}
