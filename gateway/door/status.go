package door

import (
	"github.com/uimgate/uimgate/gateway/service"
)

// A Status is what an operator sees of a door at one service.
type Status struct {
	Door string `json:"door"` // as in logs, metrics and audit records
	// Addresses are where agents come in, by what each is: url, or address for an identity of the protocol, and what else the
	// protocol has. They stay the same while the door is open.
	Addresses map[string]string `json:"addresses"`
	// Activity is what a door that does more than answer requests is busy with; nil: it has nothing of the kind.
	Activity any `json:"activity,omitempty"`
}

// A Reporter is a Module that operators see. It is safe for concurrent use.
type Reporter interface {
	// Status reports a door at a service, and false where it is shut there.
	Status(s *service.Service) (Status, bool)
}

// Statuses reports those of the modules that are open at a service, in their order.
func Statuses(modules []Module, s *service.Service) []Status {
	open := []Status{}
	for _, r := range Of[Reporter](modules) {
		if status, isOpen := r.Status(s); isOpen {
			open = append(open, status)
		}
	}
	return open
}

// A Listener is a Module that listens for more than services.
type Listener interface {
	// URLs returns where it listens, by name.
	URLs() map[string]string
}
