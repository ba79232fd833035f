package policies

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/service"
)

// A Policy is the policy of a service that is in force, one that takes effect later, or a past one.
type Policy struct {
	UID          string    `json:"uid"`
	Digest       string    `json:"digest"`
	Offered      bool      `json:"offered"` // agents can agree to it
	FirstOffered time.Time `json:"first_offered,omitzero"`
	From         time.Time `json:"from,omitzero"`  // when it took effect or takes effect, if the configuration has a date
	Until        time.Time `json:"until,omitzero"` // when the policy after it takes effect
}

// Offered returns the policy in force and its successors, in the order in which they take effect.
func Offered(s *service.Service) []Policy {
	var list []Policy
	for _, d := range append([]*service.Definition{s.Definition}, s.Successors()...) {
		offer := d.Offer()
		list = append(list, Policy{UID: offer.UID, Digest: offer.Digest, Offered: true, From: d.From, Until: d.Until()})
	}
	return list
}

// A PolicyQuery selects policies of a service. After must be empty.
type PolicyQuery struct {
	Service string `query:"service"`
	api.PageRequest
}

// Policies lists the policy in force first, then those that take effect later, and then those that were offered or agreed to before, newest
// first. Policies beyond the limit cannot be listed.
func (o *Operations) Policies(ctx context.Context, s *service.Service, q PolicyQuery) (api.Page[Policy], error) {
	if q.After != "" {
		return api.Page[Policy]{}, api.WrongParameter("after", "is not supported: policies are listed in a single page")
	}
	list, err := o.c.Store.RecentPolicies(ctx, s.ID, q.Max())
	if err != nil {
		return api.Page[Policy]{}, err
	}
	out := api.Page[Policy]{Items: Offered(s)}
	for _, p := range list {
		offered := false
		for i := range out.Items {
			if one := &out.Items[i]; one.Offered && one.Digest == p.Digest {
				one.FirstOffered, offered = p.FirstOffered, true
			}
		}
		if !offered {
			out.Items = append(out.Items, Policy{UID: p.UID, Digest: p.Digest, FirstOffered: p.FirstOffered})
		}
	}
	out.Items = out.Items[:min(len(out.Items), q.Max())]
	return out, nil
}
