// Package hostconfig generates the settings with which an MCP host starts a server as a child process.
package hostconfig

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// A Server is a process that a host starts.
type Server struct {
	Name    string // the name that the host shows
	Command string // absolute path
	Args    []string
}

// A Host is a program that starts MCP servers.
type Host struct {
	Title string
	File  string // where users keep the settings
	key   string // member of the settings that holds servers
	typed bool   // the settings state the server's kind
}

var hosts = map[string]Host{
	"claude": {Title: "Claude Desktop", File: "claude_desktop_config.json (Settings, Developer, Edit Config)", key: "mcpServers"},
	"vscode": {
		Title: "Visual Studio Code", File: ".vscode/mcp.json, or the file that MCP: Open User Configuration opens", key: "servers", typed: true,
	},
	"cursor": {Title: "Cursor", File: "~/.cursor/mcp.json, or .cursor/mcp.json in a project", key: "mcpServers"},
	"zed":    {Title: "Zed", File: "settings.json (zed: open settings)", key: "context_servers"},
}

// Names returns the names of the supported hosts.
func Names() []string { return slices.Sorted(maps.Keys(hosts)) }

// Of returns the supported host with the given name. It returns false if there is none.
func Of(name string) (Host, bool) {
	h, ok := hosts[name]
	return h, ok
}

// Settings returns the host's settings for one server as JSON, to save or to merge into existing settings.
func (h Host) Settings(s Server) ([]byte, error) {
	server := map[string]any{"command": s.Command, "args": s.Args}
	if h.typed {
		server["type"] = "stdio"
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(map[string]any{h.key: map[string]any{s.Name: server}})
	return out.Bytes(), err
}
