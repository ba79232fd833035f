package record

import (
	"sync"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/store"
)

// IntentFigures counts the calls to each intent in the last 24 hours in memory. It is safe for concurrent use.
type IntentFigures struct {
	now func() time.Time

	mu    sync.Mutex
	hours map[intentOf]*[intentHours]intentHour
}

// intentHours is the number of hours that are counted, including the current one.
const intentHours = 24

type intentOf struct{ service, intent string }

// An intentHour counts the calls that ended in one hour.
type intentHour struct {
	hour int64 // since 1970
	IntentUse
}

// IntentUse counts the calls to one intent.
type IntentUse struct {
	Calls   int64
	Refused int64 // of Calls, without those in Failed: the gateway responded with an error
	Failed  int64 // of Calls: the service failed, or the outcome is unknown
}

// NewIntentFigures returns IntentFigures without calls.
func NewIntentFigures(now func() time.Time) *IntentFigures {
	return &IntentFigures{now: now, hours: map[intentOf]*[intentHours]intentHour{}}
}

// Record implements execute.Recorder. It does not count calls to intents that do not exist.
func (f *IntentFigures) Record(v *execute.Event) {
	if v.Intent == "" {
		return
	}
	hour := f.hour()
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.hours[intentOf{v.Service, v.Intent}]
	if of == nil {
		of = &[intentHours]intentHour{}
		f.hours[intentOf{v.Service, v.Intent}] = of
	}
	h := &of[hour%intentHours]
	if h.hour != hour {
		*h = intentHour{hour: hour}
	}
	h.Calls++
	switch {
	case v.Outcome == store.Failed, v.Outcome == store.Unknown:
		h.Failed++
	case v.Reason != "":
		h.Refused++
	}
}

func (f *IntentFigures) hour() int64 { return max(0, f.now().Unix()/3600) }

// Use returns the calls to an intent in the last 24 hours.
func (f *IntentFigures) Use(service, intent string) (sum IntentUse) {
	hour := f.hour()
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.hours[intentOf{service, intent}]
	if of == nil {
		return sum
	}
	for _, h := range of {
		if h.hour > hour-intentHours && h.hour <= hour {
			sum.Calls, sum.Refused, sum.Failed = sum.Calls+h.Calls, sum.Refused+h.Refused, sum.Failed+h.Failed
		}
	}
	return sum
}
