package daemon

import (
	"time"

	"go.uber.org/zap"
)

// An outage logs an operation that fails repeatedly: when the failure begins, at most once per outageEvery while it lasts, and when it
// ends. It is not safe for concurrent use.
type outage struct {
	log    *zap.Logger
	now    func() time.Time
	failed string    // message while the operation fails
	ended  string    // message when it succeeds again
	began  time.Time // zero: the operation succeeds
	logged time.Time // the time of the last line
}

const outageEvery = time.Minute

// note records one attempt; err is nil if it succeeded.
func (o *outage) note(err error) {
	now := o.now()
	switch {
	case err == nil && !o.began.IsZero():
		o.log.Info(o.ended, zap.Duration("after", now.Sub(o.began)))
		o.began = time.Time{}
	case err == nil:
	case o.began.IsZero(), now.Sub(o.logged).Abs() >= outageEvery:
		if o.began.IsZero() {
			o.began = now
		}
		o.logged = now
		o.log.Warn(o.failed, zap.Error(err), zap.Time("since", o.began))
	}
}
