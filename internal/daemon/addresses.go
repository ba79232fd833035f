package daemon

import (
	"maps"

	"github.com/uimgate/uimgate/gateway/door"
)

// Addresses are the addresses that the gateway listens on.
type Addresses struct {
	Listen string `json:"listen"` // http://127.0.0.1:41233
	Admin  string `json:"admin"`
	// Telemetry is the listener for probes and Prometheus; empty: none.
	Telemetry string `json:"telemetry,omitempty"`
	// Doors holds the addresses for agents of other protocols: the Addresses of each door.Status, by the name of the door. If there are
	// several services, each name is prefixed with the id of the service and a slash.
	Doors map[string]map[string]string `json:"doors"`
	// Beside holds the URLs of the listeners of modules that belong to no service: see door.Listener. In JSON they are members of the same
	// object: encode Addresses with go-json-experiment/json, because encoding/json does not support embed.
	Beside map[string]string `json:",embed"`
}

// addressModules adds the addresses of the modules to p.addresses.
func (p *process) addressModules() {
	p.addresses.Doors, p.addresses.Beside = map[string]map[string]string{}, map[string]string{}
	services := p.directory.Current().Services()
	for _, s := range services {
		of := ""
		if len(services) > 1 {
			of = s.ID + "/"
		}
		for _, status := range door.Statuses(p.modules, s) {
			p.addresses.Doors[of+status.Door] = status.Addresses
		}
	}
	for _, l := range door.Of[door.Listener](p.modules) {
		maps.Copy(p.addresses.Beside, l.URLs())
	}
}
