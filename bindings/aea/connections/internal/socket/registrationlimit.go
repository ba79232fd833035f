package socket

import (
	"time"

	"github.com/uimgate/uimgate/internal/connlimit"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/ratelimit"
)

// registrations limits the registrations from one client address on one connection type, because checking a registration requires the
// verification of two signatures.
var registrations = limit.Rate{Max: 30, Period: limit.Minute}

// RegistrationLimit limits the registrations of client addresses. It is safe for concurrent use.
type RegistrationLimit struct {
	now  func() time.Time
	from *ratelimit.Set
}

// NewRegistering returns a RegistrationLimit whose clock is now.
func NewRegistering(now func() time.Time) *RegistrationLimit {
	return &RegistrationLimit{now: now, from: ratelimit.NewSet(registrations)}
}

// Admit reports whether another agent may register from an address (host:port).
func (r *RegistrationLimit) Admit(remote string) bool {
	return r.from.Admit(connlimit.CountedAs(connlimit.Peer(remote)), r.now())
}

// Close stops the background work immediately. Without Close, it stops some time after the last use.
func (r *RegistrationLimit) Close() { r.from.Close() }
