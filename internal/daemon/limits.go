package daemon

import (
	"fmt"
	"sync"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/notify"
	"github.com/uimgate/uimgate/internal/limit"
)

// mostLimits is the maximum number of limits that limitNotices remembers. While the maximum is reached, other limits cause no notice.
const mostLimits = 5000

// limitNotices keeps a Condition for each limit or budget of an agent that is nearly or completely used. Each Condition exists until the
// window has passed, so that there is one notice for each agent, limit and window. Limits of less than a day cause no notices, because
// their windows end before an operator can act. It implements execute.Recorder.
type limitNotices struct {
	now func() time.Time
	mu  sync.Mutex
	of  map[usedLimit]usedSince
}

// A usedLimit is a limit of an agent that has reached a stage.
type usedLimit struct {
	event          config.Event
	service, agent string
	id             string
	period         limit.Period
}

type usedSince struct {
	at, until time.Time // until is zero if the window never ends
	text      string
}

// Record implements execute.Recorder.
func (l *limitNotices) Record(e *execute.Event) {
	for _, s := range e.Near {
		if s.Kind != limit.Ceiling && (s.Period.Calendar() || s.Period == limit.Lifetime || s.Period.Seconds() >= limit.Day.Seconds()) {
			l.add(e, s)
		}
	}
}

func (l *limitNotices) add(e *execute.Event, s limit.Status) {
	k := usedLimit{config.LimitNear, e.Service, e.AgentID, s.ID, s.Period}
	if s.Stage() == limit.Reached {
		k.event = config.LimitReached
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	before, known := l.of[k]
	if known && (before.until.IsZero() || now.Before(before.until)) || !known && len(l.of) >= mostLimits {
		return
	}
	if l.of == nil {
		l.of = map[usedLimit]usedSince{}
	}
	l.of[k] = usedSince{now, windowEnd(s.Period, now), limitText(s)}
}

// windowEnd returns the end of the present window of a limit: the end of the calendar month or year, or a period from now on. The zero time
// means that the window never ends.
func windowEnd(p limit.Period, now time.Time) time.Time {
	switch {
	case p == limit.Lifetime:
		return time.Time{}
	case p.Calendar():
		return p.Frees(p.Slot(now))
	}
	return now.Add(time.Duration(p.Seconds()) * time.Second)
}

// limitText describes a used limit for people.
func limitText(s limit.Status) string {
	what := "limit of " + s.String() + " of the agent"
	if s.Kind == limit.Budget {
		what = fmt.Sprintf("budget of %s a %s that a person gave the client",
			limit.AllowanceLeft(s.Max, limit.BudgetCurrency(s.ID)), s.Period)
	}
	if s.Stage() == limit.Reached {
		return "The " + what + " is used up."
	}
	return "At least 80 % of the " + what + " is used."
}

// conditions returns the Conditions of the windows that have not passed, and forgets the others.
func (l *limitNotices) conditions() (found []notify.Condition) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, since := range l.of {
		if !since.until.IsZero() && !now.Before(since.until) {
			delete(l.of, k)
			continue
		}
		found = append(found, notify.Condition{
			Event: k.event, Service: k.service, Subject: k.agent + " " + k.id, Since: since.at, Text: since.text,
		})
	}
	return found
}
