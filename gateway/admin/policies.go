package admin

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/pat"
)

// A Policy is the current policy of a service, or a past one.
type Policy struct {
	UID          string    `json:"uid"`
	Digest       string    `json:"digest"`
	Offered      bool      `json:"offered"` // currently offered
	FirstOffered time.Time `json:"first_offered,omitzero"`
}

// A PolicyQuery selects policies of a service. After must be empty.
type PolicyQuery struct {
	Service string
	PageRequest
}

func (q *PolicyQuery) parameters(p parameters) {
	p.service(&q.Service)
	p.page(&q.PageRequest)
}

// Policies lists the current policy first, and then those that were offered or agreed to before, newest first. Policies beyond the limit
// cannot be listed.
func (o *Operator) Policies(ctx context.Context, q PolicyQuery) (Page[Policy], error) {
	service, err := o.service(q.Service)
	if err != nil {
		return Page[Policy]{}, err
	}
	if q.After != "" {
		return Page[Policy]{}, wrongParameter("after", "is not supported: policies are listed in a single page")
	}
	list, err := o.store.RecentPolicies(ctx, service.ID, q.limit())
	if err != nil {
		return Page[Policy]{}, err
	}
	now := service.Offer()
	out := Page[Policy]{Items: []Policy{{UID: now.UID, Digest: now.Digest, Offered: true}}}
	for _, p := range list {
		if p.Digest == now.Digest {
			out.Items[0].FirstOffered = p.FirstOffered
			continue
		}
		out.Items = append(out.Items, Policy{UID: p.UID, Digest: p.Digest, FirstOffered: p.FirstOffered})
	}
	out.Items = out.Items[:min(len(out.Items), q.limit())]
	return out, nil
}

// A RevokedPolicy is the result of RevokePolicy.
type RevokedPolicy struct {
	Digest  string `json:"digest"`
	Revoked bool   `json:"revoked"`
}

// RevokePolicy ends all PATs issued so far under the policy whose digest is r.ID.
func (o *Operator) RevokePolicy(ctx context.Context, r Revocation) (RevokedPolicy, error) {
	err := o.revoke(ctx, pat.RevokedPolicy, r, func(s *service.Service) error {
		_, err := o.store.Policy(ctx, s.ID, r.ID)
		return err
	})
	if err != nil {
		return RevokedPolicy{}, err
	}
	return RevokedPolicy{r.ID, true}, nil
}
