package admin

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/internal/reason"
)

// A Role limits which operations a caller may use. A Role that is not in Roles allows none.
type Role string

// The roles. Every role may use the operations that change nothing.
const (
	RoleViewer   Role = "viewer"
	RoleOperator Role = "operator" // also agents, agreements, PATs, stops and reloads
	RoleBilling  Role = "billing"  // also charges, top-ups, payments and invoices
	RoleAdmin    Role = "admin"    // everything
)

// Roles are all roles.
var Roles = []Role{RoleViewer, RoleOperator, RoleBilling, RoleAdmin}

// Allows reports whether a caller with the role r may use an operation that needs the role needed.
func (r Role) Allows(needed Role) bool {
	return slices.Contains(Roles, r) && (needed == RoleViewer || r == needed || r == RoleAdmin)
}

// A Caller is the person or program that uses the operations.
type Caller struct {
	Name string // identifies a person or program to operators; at most 200 characters
	Role Role
	Via  string // how the caller was identified: socket, token, link or oidc
	// RequestID identifies the request of the caller in the log and in the audit stream. It may be empty.
	RequestID string
}

// A RoleError means that the role of a caller does not allow an operation.
type RoleError struct {
	Operation string // such as POST /agents/{id}/block
	Needed    Role
}

func (e *RoleError) Error() string { return fmt.Sprintf("%s needs the role %s", e.Operation, e.Needed) }

// MayUse returns a *RoleError if the role of a caller does not allow an operation, which is named by method and path, such as
// POST /agents/{id}/block.
func (o *Operator) MayUse(c Caller, name string) error {
	needed, known := o.roles[name]
	if !known {
		needed = RoleAdmin
	}
	if !c.Role.Allows(needed) {
		return &RoleError{Operation: name, Needed: needed}
	}
	return nil
}

// Do carries out an operation for a caller, unless MayUse returns an error. It then writes the change to the log and to the audit stream,
// also if the operation failed but may have made the change.
// about is the service and the record that the operation changes.
func Do[Q, A any](
	ctx context.Context, o *Operator, c Caller, name string, about Record, q Q, do func(context.Context, Q) (A, error),
) (answer A, err error) {
	if err := o.MayUse(c, name); err != nil {
		return answer, err
	}
	answer, err = do(WithCaller(ctx, c), q)
	if err != nil {
		o.failed(c, change{name, about, detailsOf(q)}, err)
		return answer, err
	}
	if named, ok := any(answer).(interface{ subject() string }); ok {
		about.ID = named.subject()
	}
	if s, err := o.service(about.Service); err == nil {
		about.Service = s.ID
	}
	o.did(c, change{name, about, detailsOf(q, answer)})
	return answer, nil
}

// A change is what an operation changes.
type change struct {
	name   string // of the operation
	about  Record
	detail map[string]string
}

// line returns the change as a caller made it.
func (ch change) line(c Caller) record.ChangeLine {
	return record.ChangeLine{
		By: c.Name, Role: string(c.Role), Via: c.Via, Did: ch.name, Subject: ch.about.ID, RequestID: c.RequestID, Detail: ch.detail,
	}
}

// did writes a change to the log and to the audit stream.
func (o *Operator) did(c Caller, ch change) { o.recordChange(ch.about.Service, ch.line(c)) }

// recordChange writes a change to the log and to the audit stream, or, if line.Failed is set, an operation that may have made its change.
func (o *Operator) recordChange(service string, line record.ChangeLine) {
	fields := []zap.Field{
		zap.String("did", line.Did), zap.String("service", service), zap.String("subject", line.Subject),
		zap.String("by", line.By), zap.String("via", line.Via), zap.String("request_id", line.RequestID),
	}
	if line.Address != "" {
		fields = append(fields, zap.String("address", line.Address))
	}
	if line.Detail != nil {
		fields = append(fields, zap.Any("detail", line.Detail))
	}
	if line.Failed == "" {
		o.log.Info("operator", fields...)
	} else {
		o.log.Warn("an operation failed, but it may have made its change", append(fields, zap.String("reason", line.Failed))...)
	}
	if o.audit != nil {
		o.audit.RecordChange(o.now(), service, line)
	}
}

// RefusalFor returns the refusal with which the admin API responds to an error of an operation.
func RefusalFor(err error) *reason.Refusal { return refusalFor(err) }

// failed writes an operation that failed to the log and to the audit stream, unless the error is a refusal: an operation can fail after the
// store has committed the change.
func (o *Operator) failed(c Caller, ch change, err error) {
	why := refusalFor(err)
	if why.Status() < http.StatusInternalServerError {
		return
	}
	service := ch.about.Service
	if s, err := o.service(service); err == nil {
		service = s.ID
	}
	line := ch.line(c)
	line.Failed = string(why.Reason)
	o.recordChange(service, line)
}

// callerKey is the key of the Caller in a context.
type callerKey struct{}

// WithCaller returns a context of an operation that c uses.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the Caller of the operation with a context. It returns false if the context is not that of an operation.
func CallerOf(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}
