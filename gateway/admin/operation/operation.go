// Package operation declares the operations of the admin API, once for the server and for its clients: their methods, paths, roles,
// requests and responses.
//
//	agents, err := client.Do(ctx, c, operation.Agents, agreements.AgentQuery{Status: pat.AgentBlocked})
package operation

import (
	"net/http"

	"github.com/uimgate/uimgate/gateway/admin/api"
)

// A Route is one method of one path of the admin API. The path is below admin.Path, and may contain {id}, the id of a record. An operation
// whose method is not GET continues if its caller disconnects.
type Route struct {
	Method, Path string
	Role         api.Role // the role that a caller needs
	Summary      string   // for the document of OpenAPI
}

// Name identifies the operation in the log and in the audit stream, such as POST /agents/{id}/block.
func (r Route) Name() string { return r.Method + " " + r.Path }

// An Operation is a Route with the types of its request and of its response.
type Operation[Q, A any] struct{ Route }

// None is the request of an operation without input.
type None struct{}

// get returns an operation that changes nothing and that every role may use.
func get[Q, A any](path, summary string) Operation[Q, A] {
	return Operation[Q, A]{Route{http.MethodGet, path, api.RoleViewer, summary}}
}

// post returns an operation that has members in its body. If its role is not api.RoleViewer, it changes something.
func post[Q, A any](path string, role api.Role, summary string) Operation[Q, A] {
	return Operation[Q, A]{Route{http.MethodPost, path, role, summary}}
}
