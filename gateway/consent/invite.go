package consent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/store"
)

// Bounds of the validity of an invitation.
const (
	LeastInvited   = time.Minute
	LongestInvited = 30 * 24 * time.Hour
)

// ErrInvitation means that the requested duration or name of an invitation is out of bounds.
var ErrInvitation = errors.New("an invitation is good for 1m to 30 days, and its name has at most 100 printable characters")

// An Invitation lets one person consent once, regardless of the service's admission. The code is a secret.
type Invitation struct {
	Code  string
	Name  string // the operator's name for the person; empty: none
	Until time.Time
}

// Invitations stores invitations.
type Invitations interface {
	AddInvitation(ctx context.Context, i store.Invitation) error
}

// Invite makes an invitation with a lifetime. The error is ErrInvitation or the store's.
func Invite(ctx context.Context, s Invitations, service, name string, now time.Time, good time.Duration) (Invitation, error) {
	if good < LeastInvited || good > LongestInvited || plain(name, maxName) != name {
		return Invitation{}, ErrInvitation
	}
	i := Invitation{Code: rand.Text(), Name: name, Until: now.Add(good)}
	err := s.AddInvitation(ctx, store.Invitation{Service: service, Code: digestOf(i.Code), Name: name, CreatedAt: now, Until: i.Until})
	if err != nil {
		return Invitation{}, fmt.Errorf("keeping the invitation: %w", err)
	}
	return i, nil
}
