package execute

import (
	"context"
	"errors"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// The values of UIM-Agent-Standing. They show the service whether the operator or the configuration has approved an agent.
const (
	standingApproved   = "approved"
	standingUnapproved = "unapproved"
)

// An approval is whether a principal is approved. A change to any agent ends it.
type approval struct {
	approved bool
	asOf     uint64 // Revocations.AgentChanges when the record was read
}

const (
	maxStandings  = 100_000
	standingsKept = time.Minute // time after which a record is read again, even without a change
)

// approved reports whether a principal is approved. A principal without a record is not approved.
func (x *Executor) approved(ctx context.Context, service string, p pat.Principal) (bool, error) {
	record, asOf := p.Record(), x.cfg.Revocations.AgentChanges()
	key := [2]string{service, string(record)}
	if known, ok := x.standings.Get(key); ok && known.asOf == asOf {
		return known.approved, nil
	}
	agent, err := x.cfg.State.Agent(ctx, service, record)
	if errors.Is(err, pat.ErrNotFound) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	x.standings.Set(key, approval{agent.Approved, asOf})
	return agent.Approved, nil
}

// Unapproved reports whether the operator has not approved a principal. Unapproved agents can use only a part of shared resources. If the
// store cannot be read, Unapproved returns true.
func (x *Executor) Unapproved(ctx context.Context, service string, p pat.Principal) bool {
	approved, err := x.approved(ctx, service, p)
	return err != nil || !approved
}

// UnapprovedKey is Unapproved for the agent to which a key belongs.
func (x *Executor) UnapprovedKey(ctx context.Context, service string, key keys.ID) bool {
	owner, err := x.cfg.State.KeyOwner(ctx, service, key)
	return err != nil || x.Unapproved(ctx, service, pat.Principal(owner))
}

// billing returns how this agent pays for a call. Under open admission, all unapproved agents share one additional limit on credit, because
// anyone can create any number of keys.
func (e *execution) billing() store.Billing {
	if e.claims.Assurance == pat.Consent { // under the consent of a person, a client spends only amounts that were paid in for it
		return store.Billing{Prepaid: true}
	}
	b := e.service.Credit
	b.Unapproved = e.service.OpenAdmission && !e.approved
	return b
}

// standing returns the value of UIM-Agent-Standing for the service.
func (e *execution) standing() string {
	if e.approved {
		return standingApproved
	}
	return standingUnapproved
}
