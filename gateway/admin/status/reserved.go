package status

import (
	"context"
	"maps"
	"slices"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// Holders is the part of a Store that HeldByOthers reads.
type Holders interface {
	// Holders returns the agents among ids that have keys.
	Holders(ctx context.Context, service string, ids []pat.AgentID) ([]pat.Agent, error)
}

// HeldByOthers returns the agent ids that pat.allow or parties reserve for certain keys, but that belong to other keys, which used
// the ids first. The gateway refuses the PATs of an agent with such an id. When one of the keys for which the id is reserved agrees for the
// first time, that key takes over the id.
func HeldByOthers(ctx context.Context, s Holders, d *service.Definition) ([]pat.AgentID, error) {
	reserved := d.Reserved()
	if len(reserved) == 0 {
		return nil, nil
	}
	holders, err := s.Holders(ctx, d.ID, slices.Sorted(maps.Keys(reserved)))
	if err != nil {
		return nil, err
	}
	var out []pat.AgentID
	for _, a := range holders {
		if !slices.ContainsFunc(a.Keys, func(k keys.ID) bool { return slices.Contains(reserved[a.ID], k) }) {
			out = append(out, a.ID)
		}
	}
	return out, nil
}
