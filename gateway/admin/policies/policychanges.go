package policies

import (
	"context"

	"github.com/uimgate/uimgate/gateway/service"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/odrl/words"
)

// A PolicyPair names two policies that the gateway has offered, by their digests.
type PolicyPair struct {
	Service string `query:"service"` // empty: the only service
	From    string `query:"from"`
	To      string `query:"to"`
}

// PolicyChanges describes in words what changed for agents from one policy to another. It returns NO_SUCH_RECORD if the store does not have
// one of the two.
func (o *Operations) PolicyChanges(ctx context.Context, s *service.Service, p PolicyPair) (words.Comparison, error) {
	if p.From == "" || p.To == "" {
		return words.Comparison{}, api.WrongMember("from", "and to must be digests of policies")
	}
	from, _, err := o.policyToDecide(ctx, s, DecideRequest{PolicyDigest: p.From})
	if err != nil {
		return words.Comparison{}, err
	}
	to, _, err := o.policyToDecide(ctx, s, DecideRequest{PolicyDigest: p.To})
	if err != nil {
		return words.Comparison{}, err
	}
	return words.Compare(from, to), nil
}
