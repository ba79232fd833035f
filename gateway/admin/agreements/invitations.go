package agreements

import (
	"context"
	"errors"
	"time"

	"github.com/uimgate/uimgate/gateway/service"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/consent"
)

// inviteFor is the default lifetime of an invitation.
const inviteFor = 24 * time.Hour

// An Invite requests an invitation.
type Invite struct {
	Service string `json:"-" query:"service"`
	Name    string `json:"name,omitempty"`   // the operator's name for the invited person
	For     string `json:"within,omitempty"` // the lifetime, a duration such as 24h; empty: 24h
}

// An Invitation lets one person consent once at a service whose operator decides who may consent. Code is a secret: Invite returns it, and
// no other operation does.
type Invitation struct {
	Code  string    `json:"code"`
	Name  string    `json:"name,omitempty"`
	Until time.Time `json:"until"`
}

// Invite creates an invitation.
func (o *Operations) Invite(ctx context.Context, s *service.Service, i Invite) (_ Invitation, err error) {
	within := inviteFor
	if i.For != "" {
		if within, err = time.ParseDuration(i.For); err != nil {
			return Invitation{}, api.WrongMember("within", "must be a duration such as 24h")
		}
	}
	made, err := consent.Invite(ctx, o.Store, s.ID, i.Name, o.Now(), within)
	if errors.Is(err, consent.ErrInvitation) {
		return Invitation{}, api.WrongMember("within", err.Error())
	}
	return Invitation{Code: made.Code, Name: made.Name, Until: made.Until.UTC()}, err
}
