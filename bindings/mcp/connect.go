package mcp

import (
	"encoding/json"

	"github.com/uimgate/uimgate/gateway/door"
)

// Connections implements door.Connector.
func (*Door) Connections(t door.Target) []door.Connection {
	url := t.Addresses["url"]
	return []door.Connection{
		door.NewConnection("Claude Code", door.Shell, "claude mcp add --transport http "+t.Name+" "+url),
		door.NewConnection("VS Code", ".vscode/mcp.json", settingsText("servers", t.Name, map[string]string{"type": "http", "url": url})),
		door.NewConnection("Cursor", ".cursor/mcp.json", settingsText("mcpServers", t.Name, map[string]string{"url": url})),
		door.NewConnection("uimgate agent, through MCP", door.Shell, "uimgate agent execute "+t.Intent+" --via mcp   # after it has agreed"),
	}
}

// settingsText returns the settings of an editor with one MCP server.
func settingsText(member, name string, server map[string]string) string {
	text, _ := json.MarshalIndent(map[string]any{member: map[string]any{name: server}}, "", "  ") // strings can always be encoded
	return string(text)
}
