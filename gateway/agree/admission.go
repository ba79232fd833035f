package agree

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/limit/bucket"
	"github.com/uimgate/uimgate/internal/reason"
)

// issuancePerSecond bounds agreements and renewals of all callers together: keys are free, and each agreement costs a
// signature check and a durable write.
const issuancePerSecond = 100

// An admission bounds agreements and renewals before they are read: for each caller, and for all together.
type admission struct {
	perCaller *bucket.Set
	all       *rate.Limiter
}

func newAdmission(perCaller limit.Rate) *admission {
	return &admission{perCaller: bucket.NewSet(perCaller), all: rate.NewLimiter(issuancePerSecond, issuancePerSecond)}
}

func (a *admission) admit(from string, now time.Time) error {
	if !a.perCaller.Admit(from, now) {
		return reason.TooManyConnections.Refusal("Too many agreements from this address.").After(a.perCaller.Wait())
	}
	if !a.all.AllowN(now, 1) {
		return reason.TooManyConnections.Refusal("Too many agreements at once.").After(time.Second)
	}
	return nil
}
