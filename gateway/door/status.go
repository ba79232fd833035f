package door

import (
	"github.com/uimgate/uimgate/gateway/service"
)

// A Status is the operator's view of a door at one service.
type Status struct {
	Door string `json:"door"` // as in logs, metrics and audit records
	// Addresses are the addresses for agents, by kind: url for a URL, address for an identity in the protocol, or a kind that the protocol
	// defines. They do not change while the door is open.
	Addresses map[string]string `json:"addresses"`
	// Activity describes the background work of the door; nil: it has none.
	Activity any `json:"activity,omitempty"`
}

// A Reporter is a Module with a status for operators. It is safe for concurrent use.
type Reporter interface {
	// Status returns the status of the door at a service, or false if the door is not open at that service.
	Status(s *service.Service) (Status, bool)
}

// Statuses returns the statuses of the modules that are open at a service, in the order of modules.
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
