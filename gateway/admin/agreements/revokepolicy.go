package agreements

import (
	"context"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/pat"
)

// A RevokedPolicy is the result of RevokePolicy.
type RevokedPolicy struct {
	Digest  string `json:"digest"`
	Revoked bool   `json:"revoked"`
}

// RevokePolicy ends all PATs issued so far under the policy whose digest is r.ID.
func (o *Operations) RevokePolicy(ctx context.Context, r api.Revocation) (RevokedPolicy, error) {
	err := o.revoke(ctx, pat.RevokedPolicy, r, func(s *service.Service) error {
		_, err := o.store.Policy(ctx, s.ID, r.ID)
		return err
	})
	if err != nil {
		return RevokedPolicy{}, err
	}
	return RevokedPolicy{r.ID, true}, nil
}
