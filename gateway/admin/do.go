package admin

import (
	"cmp"
	"context"
	"net/http"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/internal/reason"
)

// MayUse returns a *RoleError if the role of a caller does not allow an operation, which is named by method and path, such as
// POST /agents/{id}/block.
func (o *Operator) MayUse(c api.Caller, name string) error {
	needed := cmp.Or(o.bound[name].Role, api.RoleAdmin)
	if !c.Role.Allows(needed) {
		return &api.RoleError{Operation: name, Needed: needed}
	}
	return nil
}

// Call carries out an operation. It panics if the operation is not one of package operation.
func Call[Q, A any](ctx context.Context, o *Operator, op operation.Operation[Q, A], q Q) (A, error) {
	do := o.bound[op.Name()].call.(func(context.Context, Q) (A, error)) //nolint:forcetypeassert // bind keeps the types together
	return do(ctx, q)
}

// Do carries out an operation for a caller, unless MayUse returns an error. It then writes the change to the log and to the audit stream,
// even if the operation failed but may have made the change.
// about is the service and the record that the operation changes.
func Do[Q, A any](
	ctx context.Context, o *Operator, c api.Caller, op operation.Operation[Q, A], about api.Record, q Q,
) (answer A, err error) {
	name := op.Name()
	if err := o.MayUse(c, name); err != nil {
		return answer, err
	}
	answer, err = Call(api.WithCaller(ctx, c), o, op, q)
	if err != nil {
		o.failed(c, api.Change{Operation: name, About: about, Detail: api.DetailsOf(q)}, err)
		return answer, err
	}
	if id, ok := api.ChangedID(answer); ok {
		about.ID = id
	}
	if s, err := o.services.Find(about.Service); err == nil {
		about.Service = s.ID
	}
	o.did(c, api.Change{Operation: name, About: about, Detail: api.DetailsOf(q, answer)})
	return answer, nil
}

// did writes a change to the log and to the audit stream.
func (o *Operator) did(c api.Caller, ch api.Change) { o.changes.Record(ch.About.Service, ch.Line(c)) }

// failed writes an operation that failed to the log and to the audit stream, unless the error is a refusal: an operation can fail after the
// store has committed the change.
func (o *Operator) failed(c api.Caller, ch api.Change, err error) {
	why := refusalFor(err)
	if why.Status() < http.StatusInternalServerError {
		return
	}
	service := ch.About.Service
	if s, err := o.services.Find(service); err == nil {
		service = s.ID
	}
	line := ch.Line(c)
	line.Failed = string(why.Reason)
	o.changes.Record(service, line)
}

// RefusalFor returns the refusal with which the admin API responds to an error of an operation.
func RefusalFor(err error) *reason.Refusal { return refusalFor(err) }
