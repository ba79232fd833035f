package admin

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
)

// A FigureQuery selects the length of the periods.
type FigureQuery struct {
	Step string // minute: the last 60 minutes; hour: the last 24 hours; empty: minute
}

func (q *FigureQuery) parameters(p parameters) { p.oneOf("step", &q.Step, "minute", "hour") }

// CallFigures counts the calls that the process that answers has handled.
type CallFigures struct {
	Process string        `json:"process"`
	Since   time.Time     `json:"since"` // when the process began to count; earlier periods have no calls
	Step    string        `json:"step"`
	Points  []FigurePoint `json:"points"` // the oldest first; the last period has not ended
}

// A FigurePoint counts the calls that ended in one period, through every door.
type FigurePoint struct {
	At      time.Time               `json:"at"` // the beginning of the period
	Calls   int64                   `json:"calls"`
	Refused int64                   `json:"refused"`
	Reasons map[reason.Reason]int64 `json:"reasons,omitempty"` // refused calls by reason
	Charged map[string]string       `json:"charged,omitempty"` // captured charges by currency, as decimals
}

// CallFigures returns how many calls ended in each minute of the last hour, or in each hour of the last day.
func (o *Operator) CallFigures(_ context.Context, q FigureQuery) (CallFigures, error) {
	if o.figures == nil {
		return CallFigures{}, reason.NoSuchRecord.Refusal("This process does not count calls.")
	}
	step, n := time.Minute, 60
	out := CallFigures{Step: "minute"}
	if q.Step == "hour" {
		step, n, out.Step = time.Hour, 24, q.Step
	}
	out.Process, out.Since = o.figures.Process()
	for _, p := range o.figures.Points(step, n) {
		one := FigurePoint{At: p.At, Calls: p.Calls, Refused: p.Refused, Reasons: p.Reasons}
		for currency, nano := range p.Charged {
			if one.Charged == nil {
				one.Charged = map[string]string{}
			}
			one.Charged[currency] = money.Amount{Nano: nano, Currency: currency}.Decimal()
		}
		out.Points = append(out.Points, one)
	}
	return out, nil
}
