// Package door has the interfaces of doors: protocols other than UIM over HTTP that agents call services with. A Door parses requests,
// has the gateway carry them out, by the methods of a Request or of a Host, and renders the results. It contains no rules of its own.
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
	// Route returns the name of the handler of a path of a service, for the log and the metrics: one of a few names. Empty: the door does
	// not serve the path. It is called for every request, so it must be fast.
	Route(s *service.Definition, path string) string
	// Serve responds to a request whose path has a Route.
	Serve(w http.ResponseWriter, r *http.Request, q *Request)
}

// An Outcome is what the listener records of a request in addition to its status.
type Outcome struct {
	Event     *execute.Event  // of a call
	Agreement *agree.Event    // of a request about agreements
	Refusal   *reason.Refusal // of a failed request
}

// A Delivery is the outcome of a reply that was sent to an agent after its request had ended.
type Delivery struct {
	Outcome

	Door   string
	Became string // delivered, or why it was not: one of a few words, which are labels of a metric
}
