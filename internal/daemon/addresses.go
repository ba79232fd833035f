package daemon

import "github.com/uimgate/uimgate/gateway/door"

// Addresses are where the gateway listens.
type Addresses struct {
	Listen string `json:"listen"` // http://127.0.0.1:41233
	Admin  string `json:"admin"`
	// MRPRelay is where agents reach the relay of the Machine Relay Protocol; empty: there is none.
	MRPRelay string `json:"mrp_relay,omitempty"`
	// Doors are where agents of other protocols come in: the Addresses of each door.Status, by the name of the door; where there
	// are several services, with the id of the service and a slash in front.
	Doors map[string]map[string]string `json:"doors"`
}

func (p *process) doorAddresses() map[string]map[string]string {
	all := map[string]map[string]string{}
	services := p.directory.Current().Services()
	for _, s := range services {
		of := ""
		if len(services) > 1 {
			of = s.ID + "/"
		}
		for _, status := range door.Statuses(p.doors, s) {
			all[of+status.Door] = status.Addresses
		}
	}
	return all
}
