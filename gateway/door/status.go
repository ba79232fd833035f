package door

import (
	"github.com/uimgate/uimgate/gateway/service"
)

// A Status is the operator's view of a door at one service.
type Status struct {
	Door string `json:"door"` // as in logs, metrics and audit records
	// Addresses are the addresses for agents, by kind: url, or address for an identity of the protocol, and other kinds of the protocol.
	// They stay the same while the door is open.
	Addresses map[string]string `json:"addresses"`
	// Activity is the background work of a door; nil: it has none.
	Activity any `json:"activity,omitempty"`
}

// A Reporter is a Module with a status for operators. It is safe for concurrent use.
type Reporter interface {
	// Status reports a door at a service, and false if it is closed there.
	Status(s *service.Service) (Status, bool)
}

// Statuses reports the modules that are open at a service, in their order.
func Statuses(modules []Module, s *service.Service) []Status {
	open := []Status{}
	for _, r := range Of[Reporter](modules) {
		if status, isOpen := r.Status(s); isOpen {
			open = append(open, status)
		}
	}
	return open
}

// A Listener is a Module with listeners that belong to no service.
type Listener interface {
	// URLs returns the URLs of its listeners, by name.
	URLs() map[string]string
}
