package uagents

import "github.com/uimgate/uimgate/gateway/door"

// Connections implements door.Connector.
func (*Door) Connections(t door.Target) []door.Connection {
	at := t.Addresses
	return []door.Connection{
		door.NewConnection("uAgents, in Python", "agent.py",
			"from uagents.communication import send_sync_message", "from uagents.resolver import RulesBasedResolver", "",
			"service = "+door.Quoted(at["address"]), "resolver = RulesBasedResolver({service: "+door.Quoted(at["url"])+"})",
			"# await send_sync_message(service, message, resolver=resolver, sender=identity, response_type=…)"),
		door.NewConnection("uimgate agent as a uAgent", door.Shell,
			"uimgate agent keygen --via uagents", "uimgate agent agree "+t.URL+" --via uagents",
			"uimgate agent execute "+t.Intent+" --via uagents"),
	}
}
