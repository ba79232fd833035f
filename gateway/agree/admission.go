package agree

import (
	"errors"
	"time"

	"golang.org/x/time/rate"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/ratelimit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// keptPerSecond bounds agreements, and renewals, of all callers together: keys are free, and each costs a durable write.
const keptPerSecond = 100

// takenPerHour bounds how often one caller learns that an agent id belongs to another, so that no caller can enumerate ids. An agent with
// a free id gets that response once.
var takenPerHour = limit.Rate{Max: 5, Period: limit.Hour}

// An admission bounds the cost of one operation: for each caller before anything is read, and for all together after all checks that need
// no write, so that refused requests take nothing from others.
type admission struct {
	perCaller *ratelimit.Set
	all       *rate.Limiter
	taken     *ratelimit.Set // by caller, of agent ids of others
	now       func() time.Time
}

func newAdmission(perCaller limit.Rate, now func() time.Time) *admission {
	return &admission{
		perCaller: ratelimit.NewSet(perCaller), all: rate.NewLimiter(keptPerSecond, keptPerSecond),
		taken: ratelimit.NewSet(takenPerHour), now: now,
	}
}

// ask counts a request of a caller. The error is a *reason.Refusal.
func (a *admission) ask(from string) error {
	if !a.perCaller.Admit(from, a.now()) {
		return reason.TooManyConnections.Refusal("Too many agreements from this address.").After(a.perCaller.Wait()).
			ShedFor(reason.ShedAgreementsAddress)
	}
	if a.taken.Empty(from, a.now()) {
		return reason.TooManyConnections.Refusal("Too many agent ids of others were asked for from this address.").After(a.taken.Wait()).
			ShedFor(reason.ShedAgentIDs)
	}
	return nil
}

// accessible counts such a response to a caller.
func (a *admission) accessible(from string, err error) {
	if errors.Is(err, pat.ErrAgentIDTaken) {
		a.taken.Admit(from, a.now())
	}
}

// keep counts a request against the bound of all. The error is a *reason.Refusal.
func (a *admission) keep() error {
	if !a.all.AllowN(a.now(), 1) {
		return reason.Overloaded.Refusal("Too many agreements at once.").After(time.Second).ShedFor(reason.ShedAgreements)
	}
	return nil
}
