package execute

import (
	"context"
	"errors"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// The values of UIM-Agent-Standing, which tells the service whether the operator, or its configuration, approved an agent.
const (
	standingApproved   = "approved"
	standingUnapproved = "unapproved"
)

// standings remembers which principals are approved, until an agent changes.
type standings struct {
	agents  Agents
	changes func() uint64
	known   *otter.Cache[standingKey, standing]
}

type standingKey struct {
	service string
	record  pat.AgentID
}

type standing struct {
	approved bool
	asOf     uint64 // how many changes of agents had been read before
}

const (
	maxStandings  = 100_000
	standingsKept = time.Minute // then a record is read again, whatever has changed
)

func newStandings(a Agents, changes func() uint64) *standings {
	return &standings{a, changes, otter.Must(&otter.Options[standingKey, standing]{
		MaximumSize: maxStandings, ExpiryCalculator: otter.ExpiryWriting[standingKey, standing](standingsKept),
	})}
}

// approved reports whether a principal is approved; one without a record is not.
func (s *standings) approved(ctx context.Context, service string, p pat.Principal) (bool, error) {
	key, asOf := standingKey{service, p.Record()}, s.changes()
	if known, ok := s.known.GetIfPresent(key); ok && known.asOf == asOf {
		return known.approved, nil
	}
	agent, err := s.agents.Agent(ctx, service, key.record)
	if errors.Is(err, pat.ErrNotFound) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	s.known.Set(key, standing{agent.Approved, asOf})
	return agent.Approved, nil
}

// billing is how a call of this agent is paid for. Under open admission agents that the operator has not
// approved share one further bound: keys are free, credit is not.
func (e *execution) billing() store.Billing {
	b := e.service.Credit
	b.Unapproved = e.service.OpenAdmission && !e.approved
	return b
}

// standing is told to the service.
func (e *execution) standing() string {
	if e.approved {
		return standingApproved
	}
	return standingUnapproved
}
