// Package door defines the interfaces of doors. A door is a protocol other than UIM over HTTP through which agents call services. It parses
// requests, passes them to the gateway with the methods of a Request or a Host, and renders the results. The rules are in the gateway.
package door

import (
	"net/http"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/reason"
)

// A Door handles requests at paths that each service configures. It is safe for concurrent use.
type Door interface {
	// Route returns the name of the handler for a path of a service, for logs and metrics. It returns an empty string if the door does not
	// serve the path. The name is a metric label, so a door must have only a few names. Route is called for every request, so it must be fast.
	Route(s *service.Definition, path string) string
	// Serve responds to a request whose path has a Route.
	Serve(w http.ResponseWriter, r *http.Request, q *Request)
}

// An Outcome holds the facts that the listener records about a request in addition to its status.
type Outcome struct {
	Event     *execute.Event  // for a call
	Agreement *agree.Event    // for a request about agreements
	Refusal   *reason.Refusal // for a failed request
}

// A Delivery is the outcome of a reply that was sent to an agent after its request had ended.
type Delivery struct {
	Outcome

	Door   string
	Became string // delivered, or the reason why the reply was not delivered; a metric label with few values
}
