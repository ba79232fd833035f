package mrp

import (
	"net/url"

	"github.com/uimgate/uimgate/gateway/door"
)

// Connections implements door.Connector.
func (*Door) Connections(t door.Target) []door.Connection {
	relay, key := t.Addresses["relay"], t.Addresses["key"]
	via := "mrp://RELAY/" + key
	if u, err := url.Parse(relay); err == nil && u.Host != "" {
		via = "mrp://" + u.Host + "/" + key
	}
	return []door.Connection{
		door.NewConnection("uimgate agent at a relay", door.Shell,
			"uimgate agent agree "+t.URL+" --via "+via, "uimgate agent execute "+t.Intent+" --via "+via),
		door.NewConnection("Other MRP agents", "a client, which sends messages through this relay to this key", relay, key),
	}
}
