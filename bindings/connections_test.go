package bindings_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/gateway/door"
)

// Each protocol shows how its clients connect, with the addresses of the service.
func TestModulesShowHowClientsConnect(t *testing.T) {
	target := door.Target{URL: "https://shop.example", Name: "shop", Intent: "shop.example:search:v1", Addresses: map[string]string{
		"url": "https://shop.example/door", "card": "https://shop.example/card.json", "address": "address-1", "key": "key-1",
		"relay": "wss://relay.example/v1", "delegate": "relay.example:11000", "node_key": "node-key",
	}}
	want := map[string]string{
		"mcp": "claude mcp add --transport http shop https://shop.example/door\n" +
			"{\n  \"servers\": {\n    \"shop\": {\n      \"type\": \"http\",\n      \"url\": \"https://shop.example/door\"\n    }\n  }\n}\n" +
			"{\n  \"mcpServers\": {\n    \"shop\": {\n      \"url\": \"https://shop.example/door\"\n    }\n  }\n}\n" +
			"uimgate agent execute shop.example:search:v1 --via mcp   # after it has agreed",
		"a2a": "https://shop.example/card.json\nuimgate agent execute shop.example:search:v1 --via a2a   # after it has agreed",
		"uagents": "from uagents.communication import send_sync_message\nfrom uagents.resolver import RulesBasedResolver\n\n" +
			"service = \"address-1\"\nresolver = RulesBasedResolver({service: \"https://shop.example/door\"})\n" +
			"# await send_sync_message(service, message, resolver=resolver, sender=identity, response_type=…)\n" +
			"uimgate agent keygen --via uagents\nuimgate agent agree https://shop.example --via uagents\n" +
			"uimgate agent execute shop.example:search:v1 --via uagents",
		"aea": "aea add connection fetchai/p2p_libp2p_client\n" +
			"aea config set --type list vendor.fetchai.connections.p2p_libp2p_client.config.nodes " +
			"'[{\"public_key\":\"node-key\",\"uri\":\"relay.example:11000\"}]'\naddress-1",
		"mrp": "uimgate agent agree https://shop.example --via mrp://relay.example/key-1\n" +
			"uimgate agent execute shop.example:search:v1 --via mrp://relay.example/key-1\nwss://relay.example/v1\nkey-1",
	}
	for _, m := range bindings.Modules() {
		if _, reports := m.(door.Reporter); !reports {
			continue
		}
		c, ok := m.(door.Connector)
		if !ok {
			t.Errorf("%s has addresses, but does not show how clients connect", m.Name())
			continue
		}
		var texts []string
		for _, one := range c.Connections(target) {
			if one.Client == "" || one.Place == "" {
				t.Errorf("%s: got %+v", m.Name(), one)
			}
			texts = append(texts, one.Text)
		}
		if got := strings.Join(texts, "\n"); got != want[m.Name()] {
			t.Errorf("%s: got\n%s\nwant\n%s", m.Name(), got, want[m.Name()])
		}
		delete(want, m.Name())
	}
	if len(want) > 0 {
		t.Errorf("these have no addresses: %v", want)
	}
}
