package api

import (
	"context"
	"fmt"
	"slices"
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
