package aea

import (
	"encoding/json"

	"github.com/uimgate/uimgate/gateway/door"
)

// Connections implements door.Connector.
func (*Door) Connections(t door.Target) []door.Connection {
	var list []door.Connection
	if uri := t.Addresses["delegate"]; uri != "" {
		nodes, _ := json.Marshal([]map[string]string{{"uri": uri, "public_key": t.Addresses["node_key"]}}) // it cannot fail
		list = append(list, door.NewConnection("AEA", door.Shell, "aea add connection fetchai/p2p_libp2p_client",
			"aea config set --type list vendor.fetchai.connections.p2p_libp2p_client.config.nodes '"+string(nodes)+"'"))
	}
	return append(list, door.NewConnection("AEA", "a skill, which sends its messages to this address", t.Addresses["address"]))
}
