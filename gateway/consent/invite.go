package consent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/store"
)

// Minimum and maximum validity of an invitation.
const (
	LeastInvited   = time.Minute
	LongestInvited = 30 * 24 * time.Hour
)

// ErrInvitation means that the requested validity or name of an invitation is not allowed.
var ErrInvitation = errors.New("an invitation must be valid for 1m to 30 days, and its name must have at most 100 printable characters")

// An Invitation allows one person to consent once, whatever the admission of the service is. Its code is a secret.
type Invitation struct {
	Code  string
	Name  string // the operator's name for the person; empty: none
	Until time.Time
}

// Invitations is the store for invitations.
type Invitations interface {
	AddInvitation(ctx context.Context, i store.Invitation) error
}

// Invite creates and stores an invitation. good is how long it is valid, from LeastInvited to LongestInvited. The error is ErrInvitation or
// an error of the store.
func Invite(ctx context.Context, s Invitations, service, name string, now time.Time, good time.Duration) (Invitation, error) {
	if good < LeastInvited || good > LongestInvited || plain(name, maxName) != name {
		return Invitation{}, ErrInvitation
	}
	i := Invitation{Code: rand.Text(), Name: name, Until: now.Add(good)}
	err := s.AddInvitation(ctx, store.Invitation{Service: service, Code: digestOf(i.Code), Name: name, CreatedAt: now, Until: i.Until})
	if err != nil {
		return Invitation{}, fmt.Errorf("storing the invitation: %w", err)
	}
	return i, nil
}
