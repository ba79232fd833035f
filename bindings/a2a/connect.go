package a2a

import "github.com/uimgate/uimgate/gateway/door"

// Connections implements door.Connector.
func (*Door) Connections(t door.Target) []door.Connection {
	return []door.Connection{
		door.NewConnection("A2A agents", "the settings of a client, which reads the agent card", t.Addresses["card"]),
		door.NewConnection("uimgate agent, through A2A", door.Shell, "uimgate agent execute "+t.Intent+" --via a2a   # after it has agreed"),
	}
}
