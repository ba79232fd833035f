package catalogue

import (
	"cmp"
	"context"
	"fmt"

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
	Service string `query:"service"` // id; empty: the only service
}

// Connections returns how clients connect to a service through the doors that are open.
func (o *Operations) Connections(_ context.Context, s *service.Service, _ ConnectionQuery) (api.Page[Connection], error) {
	t := door.Target{URL: s.PublicURL.String(), Intent: exampleIntent(s), Name: cmp.Or(toolname.Domain(s.Issuer), s.ID)}
	page := api.Page[Connection]{Items: []Connection{}}
	add := func(name string, list []door.Connection) {
		for _, c := range list {
			page.Items = append(page.Items, Connection{Door: name, Client: c.Client, Place: c.Place, Text: c.Text})
		}
	}
	add("uim", overHTTP(t))
	for _, d := range door.Of[door.Connector](o.Doors) {
		if state, open := d.Status(s); open {
			t.Addresses = state.Addresses
			add(state.Door, d.Connections(t))
		}
	}
	return page, nil
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

// overHTTP returns the clients that agree by a signature and call over HTTP.
func overHTTP(t door.Target) []door.Connection {
	url, intent := door.Quoted(t.URL), door.Quoted(t.Intent)
	return []door.Connection{
		door.NewConnection("uimgate agent", door.Shell,
			"uimgate agent keygen", "uimgate agent agree "+t.URL, "uimgate agent execute "+t.Intent),
		door.NewConnection("Assistants with a key of their own", door.Shell,
			"uimgate agent agree "+t.URL, "uimgate mcp "+t.URL+" --print-config claude   # or vscode, cursor, zed"),
		door.NewConnection("TypeScript and JavaScript", "agent.mjs",
			`import { keyFromFile, UimClient } from "uimgate";`, "",
			fmt.Sprintf(`const client = await UimClient.discover(%s, { key: await keyFromFile("agent.pem", { create: true }) });`, url),
			"const policy = await client.policy();", "console.log(await policy.explain()); // read it before the agent agrees",
			"await client.agree(policy.digest);", fmt.Sprintf("console.log((await client.execute(%s, {})).output);", intent)),
		door.NewConnection("Python", "agent.py",
			"from uimgate import Key, UimClient", "",
			fmt.Sprintf(`service = UimClient.discover(%s, key=Key.from_file("agent.pem", create=True))`, url),
			"policy = service.policy()", "print(policy.explain())  # read it before the agent agrees", "service.agree(policy.digest)",
			fmt.Sprintf("print(service.execute(%s, {}).output)", intent)),
	}
}
