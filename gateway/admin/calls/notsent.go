package calls

import (
	"context"
	"errors"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A NotSent is the operator's statement that no call of unknown outcome that began before a certain time reached the service behind the
// gateway.
type NotSent struct {
	Service         string `json:"-" query:"service"`
	api.PageRequest `json:"-"`
	AgentID         pat.AgentID `json:"-" query:"agent_id"` // empty: all agents
	Before          time.Time   `json:"-" query:"before"`
}

// Details returns the details of the change for the audit stream.
func (n NotSent) Details() map[string]string {
	return map[string]string{"before": n.Before.UTC().Format(time.RFC3339Nano), "agent": string(n.AgentID)}
}

// ResolveNotSent releases the charges of the calls that n covers, and returns these calls. Each call to ResolveNotSent examines one page of
// the calls of unknown outcome, so the page that it returns may be empty although it is not the last one. It skips calls that have been
// settled in the meantime.
func (o *Operations) ResolveNotSent(ctx context.Context, s *service.Service, n NotSent) (api.Page[Execution], error) {
	if n.Before.IsZero() {
		return api.Page[Execution]{}, api.WrongParameter("before", "must be a time such as 2026-11-01T00:00:00Z")
	}
	f := (&UsageQuery{PageRequest: n.PageRequest, AgentID: n.AgentID, State: store.Unresolved}).filter(s)
	list, err := o.Store.Executions(ctx, f)
	if err != nil {
		return api.Page[Execution]{}, err
	}
	page := api.PageOf(list, f.Limit, showExecution, func(e store.Execution) string { return e.ID })
	page.Items = page.Items[:0]
	for _, e := range list {
		if !e.BeganAt.Before(n.Before) {
			continue
		}
		switch released, err := o.Store.Resolve(ctx, e.Service, e.ID, store.Released); {
		case err == nil:
			page.Items = append(page.Items, showExecution(released))
		case !errors.Is(err, store.ErrSettled):
			return api.Page[Execution]{}, err
		}
	}
	return page, nil
}
