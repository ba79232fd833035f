package admin

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

// HeldByOthers returns the agent ids that the settings allow or parties reserve for certain keys, but that belong to other keys, which used
// them first. The gateway refuses the PATs of such an agent. When a key for which the id is reserved first agrees, it takes over the id.
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
