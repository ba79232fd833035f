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
func (o *Operations) RevokePolicy(ctx context.Context, s *service.Service, r api.Revocation) (RevokedPolicy, error) {
	err := revoke(ctx, s, pat.RevokedPolicy, r, func() error {
		_, err := o.Store.Policy(ctx, s.ID, r.ID)
		return err
	})
	if err != nil {
		return RevokedPolicy{}, err
	}
	return RevokedPolicy{r.ID, true}, nil
}
