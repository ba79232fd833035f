package processes

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
)

// A FigureQuery selects the length of the periods.
type FigureQuery struct {
	Step string `query:"step" enum:"minute,hour"` // minute: the last 60 minutes; hour: the last 24 hours; empty: minute
}

// CallFigures counts the calls that ended in any process that shares the store, including processes that have ended.
// Other processes report their calls every 10 seconds; a process that is killed does not report its last calls.
type CallFigures struct {
	Process string    `json:"process"` // the process that responds
	Since   time.Time `json:"since"`   // when Process began to count
	// Processes is the number of running processes that report. Unreported is the number of further processes, such as
	// those of an earlier release; their calls are not counted.
	Processes  int `json:"processes"`
	Unreported int `json:"unreported,omitempty"`
	// OthersUnread means that the store cannot be read: only calls of Process are counted.
	OthersUnread bool          `json:"others_unread,omitempty"`
	Step         string        `json:"step"`
	Points       []FigurePoint `json:"points"` // the oldest first; the last period has not ended
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
func (o *Operations) CallFigures(ctx context.Context, q FigureQuery) (CallFigures, error) {
	if o.Figures == nil {
		return CallFigures{}, reason.NoSuchRecord.Refusal("This process does not count calls.")
	}
	step, n := time.Minute, 60
	out := CallFigures{Step: "minute"}
	if q.Step == "hour" {
		step, n, out.Step = time.Hour, 24, q.Step
	}
	out.Process, out.Since = o.Figures.Process()
	points := o.Figures.Points(step, n)
	if err := o.addOthers(ctx, &out, points, step); err != nil {
		o.Log.Warn("the figures of other processes cannot be read", zap.Error(wire.Loggable(err)))
		out.OthersUnread = true
	}
	for _, p := range points {
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

// addOthers adds what the other processes have reported.
func (o *Operations) addOthers(ctx context.Context, out *CallFigures, points []record.FigurePoint, step time.Duration) error {
	list, open, err := o.Store.Processes(ctx)
	if err != nil {
		return err
	}
	out.Unreported = o.unreported(list, open)
	for i := range list {
		if o.runs(&list[i]) {
			out.Processes++
		}
	}
	stored, err := o.Store.CallFigures(ctx, step, points[0].At, o.ID)
	if err != nil {
		return err
	}
	return record.Add(points, stored)
}
