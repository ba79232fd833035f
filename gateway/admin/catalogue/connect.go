package catalogue

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents/toolname"
)

// A Connection shows how one kind of client connects to a service, with the addresses of the service. It contains no keys and no tokens.
type Connection struct {
	Door   string `json:"door"`   // uim for UIM over HTTP
	Client string `json:"client"` // such as VS Code
	Place  string `json:"place"`  // what Text is for: a shell, or the name of a file
	Text   string `json:"text"`
}

// A ConnectionQuery selects a service.
type ConnectionQuery struct {
	Service string // id; empty: the only service
}

func (q *ConnectionQuery) Query(p api.Parameters) { p.Service(&q.Service) }

// Connections returns how clients connect to a service through the doors that are open.
func (o *Operations) Connections(_ context.Context, q ConnectionQuery) (api.Page[Connection], error) {
	s, err := o.services.Find(q.Service)
	if err != nil {
		return api.Page[Connection]{}, err
	}
	c := connector{
		url: s.PublicURL.String(), intent: exampleIntent(s), name: cmp.Or(toolname.Domain(s.Issuer), s.ID),
		items: []Connection{},
	}
	c.uim()
	for _, d := range door.Statuses(o.doors, s) {
		c.open(d)
	}
	return api.Page[Connection]{Items: c.items}, nil
}

// exampleIntent returns the uid of the first intent that is not retired, or INTENT if there is none.
func exampleIntent(s *service.Service) string {
	for _, in := range s.Catalog.Intents() {
		if !in.Retired {
			return in.UID.String()
		}
	}
	return "INTENT"
}

const shell = "a shell"

// A connector collects the Connections of one service.
type connector struct {
	url, intent, name string
	items             []Connection
}

func (c *connector) add(door, client, place string, lines ...string) {
	c.items = append(c.items, Connection{Door: door, Client: client, Place: place, Text: strings.Join(lines, "\n")})
}

// uim adds the clients that agree by a signature and call over HTTP.
func (c *connector) uim() {
	c.add("uim", "uimgate agent", shell, "uimgate agent keygen", "uimgate agent agree "+c.url, "uimgate agent execute "+c.intent)
	c.add("uim", "Assistants with a key of their own", shell,
		"uimgate agent agree "+c.url, "uimgate mcp "+c.url+" --print-config claude   # or vscode, cursor, zed")
	c.add("uim", "TypeScript and JavaScript", "agent.mjs",
		`import { keyFromFile, UimClient } from "uimgate";`, "",
		fmt.Sprintf(`const client = await UimClient.discover(%s, { key: await keyFromFile("agent.pem", { create: true }) });`, quoted(c.url)),
		"const policy = await client.policy();", "console.log(await policy.explain()); // read it before the agent agrees",
		"await client.agree(policy.digest);", fmt.Sprintf("console.log((await client.execute(%s, {})).output);", quoted(c.intent)))
	c.add("uim", "Python", "agent.py",
		"from uimgate import Key, UimClient", "",
		fmt.Sprintf(`service = UimClient.discover(%s, key=Key.from_file("agent.pem", create=True))`, quoted(c.url)),
		"policy = service.policy()", "print(policy.explain())  # read it before the agent agrees", "service.agree(policy.digest)",
		fmt.Sprintf("print(service.execute(%s, {}).output)", quoted(c.intent)))
}

// open adds the clients of a door that is open.
func (c *connector) open(d door.Status) {
	at := d.Addresses
	switch d.Door {
	case "mcp":
		c.add(d.Door, "Claude Code", shell, "claude mcp add --transport http "+c.name+" "+at["url"])
		c.add(d.Door, "VS Code", ".vscode/mcp.json", settingsText("servers", c.name, map[string]string{"type": "http", "url": at["url"]}))
		c.add(d.Door, "Cursor", ".cursor/mcp.json", settingsText("mcpServers", c.name, map[string]string{"url": at["url"]}))
		c.add(d.Door, "uimgate agent, through MCP", shell, "uimgate agent execute "+c.intent+" --via mcp   # after it has agreed")
	case "a2a":
		c.add(d.Door, "Agents of A2A", "the settings of a client, which reads the agent card", at["card"])
		c.add(d.Door, "uimgate agent, through A2A", shell, "uimgate agent execute "+c.intent+" --via a2a   # after it has agreed")
	case "uagents":
		c.add(d.Door, "uAgents, in Python", "agent.py",
			"from uagents.communication import send_sync_message", "from uagents.resolver import RulesBasedResolver", "",
			"service = "+quoted(at["address"]), "resolver = RulesBasedResolver({service: "+quoted(at["url"])+"})",
			"# await send_sync_message(service, message, resolver=resolver, sender=identity, response_type=…)")
		c.add(d.Door, "uimgate agent as a uAgent", shell,
			"uimgate agent keygen --via uagents", "uimgate agent agree "+c.url+" --via uagents",
			"uimgate agent execute "+c.intent+" --via uagents")
	case "aea":
		c.aea(d)
	case "mrp":
		c.mrp(d)
	}
}

// aea adds agents of the AEA framework, if a connection for them is open.
func (c *connector) aea(d door.Status) {
	if uri := d.Addresses["delegate"]; uri != "" {
		nodes, _ := json.Marshal([]map[string]string{{"uri": uri, "public_key": d.Addresses["node_key"]}}) // it cannot fail
		c.add(d.Door, "AEA", shell, "aea add connection fetchai/p2p_libp2p_client",
			"aea config set --type list vendor.fetchai.connections.p2p_libp2p_client.config.nodes '"+string(nodes)+"'")
	}
	c.add(d.Door, "AEA", "a skill, which sends its messages to this address", d.Addresses["address"])
}

// mrp adds agents at the relay of a service.
func (c *connector) mrp(d door.Status) {
	relay, key := d.Addresses["relay"], d.Addresses["key"]
	via := "mrp://RELAY/" + key
	if u, err := url.Parse(relay); err == nil && u.Host != "" {
		via = "mrp://" + u.Host + "/" + key
	}
	c.add(d.Door, "uimgate agent at a relay", shell,
		"uimgate agent agree "+c.url+" --via "+via, "uimgate agent execute "+c.intent+" --via "+via)
	c.add(d.Door, "Other agents of MRP", "a client, which sends messages through this relay to this key", relay, key)
}

// quoted returns a text as a literal of JSON, which JavaScript and Python share.
func quoted(s string) string {
	text, _ := json.Marshal(s) // a string can always be encoded
	return string(text)
}

// settingsText returns the settings of an editor with one server of MCP.
func settingsText(member, name string, server map[string]string) string {
	text, _ := json.MarshalIndent(map[string]any{member: map[string]any{name: server}}, "", "  ") // strings can always be encoded
	return string(text)
}
