package record

import (
	"math"
	"sync"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/reason"
)

// Figures counts the calls of each minute of the last day in memory. It is safe for concurrent use.
type Figures struct {
	now     func() time.Time
	process string
	since   time.Time

	mu      sync.Mutex
	minutes [figureMinutes]FigurePoint // the minute m is at m modulo the length
}

const (
	figureMinutes = 24 * 60
	// maxFigureCurrencies is the maximum number of currencies in one minute.
	maxFigureCurrencies = 16
)

// A FigurePoint counts the calls that ended in one period. The store keeps its JSON.
type FigurePoint struct {
	At      time.Time               `json:"-"` // the beginning of the period, in UTC
	Calls   int64                   `json:"calls"`
	Refused int64                   `json:"refused,omitempty"` // those of Calls that were refused
	Reasons map[reason.Reason]int64 `json:"reasons,omitempty"` // the refused calls, by reason
	Charged map[string]int64        `json:"charged,omitempty"` // captured charges by currency, in billionths of a unit

	saved int64 // Calls when the store last got the point
}

// NewFigures returns Figures that begin now. process is the name of this process for operators.
func NewFigures(process string, now func() time.Time) *Figures {
	return &Figures{now: now, process: process, since: now().UTC()}
}

// Process returns the name of the process, and the time since which it counts.
func (f *Figures) Process() (name string, since time.Time) { return f.process, f.since }

// Record implements execute.Recorder.
func (f *Figures) Record(v *execute.Event) {
	at := f.now().UTC().Truncate(time.Minute)
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &f.minutes[indexOf(at)]
	if !p.At.Equal(at) {
		*p = FigurePoint{At: at}
	}
	p.Calls++
	if v.Reason != "" {
		p.Refused++
		if p.Reasons == nil {
			p.Reasons = map[reason.Reason]int64{}
		}
		p.Reasons[v.Reason]++
	}
	if c := v.Charge; c != nil && c.State == "captured" && !v.Replayed {
		p.charge(c.Currency, c.Nano)
	}
}

func indexOf(minute time.Time) int64 {
	return (minute.Unix()/60%figureMinutes + figureMinutes) % figureMinutes
}

// charge adds a charge. A sum that would overflow becomes the largest amount.
func (p *FigurePoint) charge(currency string, nano int64) {
	if p.Charged == nil {
		p.Charged = map[string]int64{}
	}
	sum, known := p.Charged[currency]
	switch {
	case !known && len(p.Charged) >= maxFigureCurrencies:
	case nano > 0 && sum > math.MaxInt64-nano:
		p.Charged[currency] = math.MaxInt64
	default:
		p.Charged[currency] = sum + nano
	}
}

// Points returns the last n periods of the length step, including the current one, the oldest first. A period without calls also has a
// point. step must be a number of minutes that divides an hour, and n periods must not be longer than a day.
func (f *Figures) Points(step time.Duration, n int) []FigurePoint {
	last := f.now().UTC().Truncate(step)
	first := last.Add(-time.Duration(n-1) * step)
	list := make([]FigurePoint, n)
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range list {
		list[i] = f.sum(first.Add(time.Duration(i)*step), step)
	}
	return list
}

// sum adds up the minutes of a period. The caller must hold mu.
func (f *Figures) sum(from time.Time, length time.Duration) FigurePoint {
	sum := FigurePoint{At: from, Reasons: map[reason.Reason]int64{}, Charged: map[string]int64{}}
	for at := from; at.Before(from.Add(length)); at = at.Add(time.Minute) {
		if p := &f.minutes[indexOf(at)]; p.At.Equal(at) {
			sum.add(p)
		}
	}
	return sum
}

// add adds the sums of another point.
func (p *FigurePoint) add(other *FigurePoint) {
	p.Calls += other.Calls
	p.Refused += other.Refused
	for r, n := range other.Reasons {
		if p.Reasons == nil {
			p.Reasons = map[reason.Reason]int64{}
		}
		p.Reasons[r] += n
	}
	for currency, nano := range other.Charged {
		p.charge(currency, nano)
	}
}
