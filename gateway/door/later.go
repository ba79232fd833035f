package door

import (
	"context"

	"github.com/uimgate/uimgate/gateway/service"
)

// A Runner is a Module that has something to do beside its requests.
type Runner interface {
	// Run does it, until ctx ends.
	Run(ctx context.Context) error
	// Drain ends what is under way, as long as ctx allows, and cuts off the rest. It returns how much that was. No request may
	// come any more. It is called once at most.
	Drain(ctx context.Context) (left int)
}

// An Opener is a Module that listens by itself.
type Opener interface {
	// Open has the door listen as these services, which are all, say it now. What none of them says any more is shut, once what is
	// under way there has ended. The error is of what could not be opened; all else is open.
	Open(ctx context.Context, services []*service.Service) error
}

// A Delivery is what became of an answer that was not the response to its request, but sent to the agent later.
type Delivery struct {
	Outcome

	Door   string
	Became string // delivered, or why it was not: one of a few words, which are labels of a metric
}
