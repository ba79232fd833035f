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

// keptPerSecond limits the number of agreements of all callers together, and separately that of renewals. Each agreement and renewal needs
// a durable write, and anyone can create any number of keys.
const keptPerSecond = 100

// takenPerHour limits how often one caller receives AGENT_ID_TAKEN, so that no caller can enumerate agent ids. An agent usually receives it
// once at most, because the refusal suggests an available id.
var takenPerHour = limit.Rate{Max: 5, Period: limit.Hour}

// An admission limits the rate of one operation. It applies the limit of each caller before the request is read. It applies the limit of
// all callers together after all checks that need no write, so that refused requests do not use up the limit of others.
type admission struct {
	perCaller *ratelimit.Set
	all       *rate.Limiter
	taken     *ratelimit.Set // by caller: requests for agent ids that belong to others
	now       func() time.Time
}

func newAdmission(perCaller limit.Rate, now func() time.Time) *admission {
	return &admission{
		perCaller: ratelimit.NewSet(perCaller), all: rate.NewLimiter(keptPerSecond, keptPerSecond),
		taken: ratelimit.NewSet(takenPerHour), now: now,
	}
}

// ask counts a request against the limit of its caller. The error is a *reason.Refusal.
func (a *admission) ask(from string) error {
	if !a.perCaller.Admit(from, a.now()) {
		return reason.TooManyConnections.Refusal("This address sent too many agreements.").After(a.perCaller.Wait()).
			ShedFor(reason.ShedAgreementsAddress)
	}
	if a.taken.Empty(from, a.now()) {
		return reason.TooManyConnections.Refusal("This address requested too many agent ids that belong to other keys.").After(a.taken.Wait()).
			ShedFor(reason.ShedAgentIDs)
	}
	return nil
}

// accessible counts a response to a caller against takenPerHour if err wraps pat.ErrAgentIDTaken.
func (a *admission) accessible(from string, err error) {
	if errors.Is(err, pat.ErrAgentIDTaken) {
		a.taken.Admit(from, a.now())
	}
}

// keep counts a request against the limit of all callers. The error is a *reason.Refusal.
func (a *admission) keep() error {
	if !a.all.AllowN(a.now(), 1) {
		return reason.Overloaded.Refusal("Too many agents are sending agreements at the moment.").
			After(time.Second).ShedFor(reason.ShedAgreements)
	}
	return nil
}
