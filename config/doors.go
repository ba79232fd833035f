package config

import (
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/yamlconf"
)

// Doors are the other protocols by which agents may come to a service.
type Doors struct {
	MCP MCPDoor `yaml:"mcp" doc:"The Model Context Protocol, for assistants and agent frameworks: intents are tools."`
	A2A A2ADoor `yaml:"a2a" doc:"Agent2Agent 1.0: intents are skills."`
}

// An MCPDoor is the endpoint of the Model Context Protocol.
type MCPDoor struct {
	Enabled  bool     `yaml:"enabled" default:"true" doc:"Whether it is open."`
	Path     string   `yaml:"path" default:"/mcp" doc:"Its path under public_url."`
	PageSize int      `yaml:"page_size" default:"200" min:"1" max:"1000" doc:"Tools in one answer. Many clients never ask for the next page."`
	Origins  []string `yaml:"origins" max:"100" doc:"Origins of web pages that may use it, such as https://inspector.example.com, beside that of public_url."`
	Consent  bool     `yaml:"consent" default:"true" doc:"Whether people may agree for clients without a key on the gateway's own page, by OAuth. Such an agreement reaches no more than a static one: it never charges. Needs pat.freshness: optional."`
	// ConsentFor bounds the refreshing of tokens, not their life.
	ConsentFor time.Duration `yaml:"consent_for" default:"30d" min:"1h" max:"366d" doc:"How long after a person's consent its client gets further tokens."`
}

// An A2ADoor is the endpoint of Agent2Agent.
type A2ADoor struct {
	Enabled bool   `yaml:"enabled" default:"true" doc:"Whether it is open."`
	Path    string `yaml:"path" default:"/a2a" doc:"Its path under public_url: JSON-RPC there, HTTP+JSON below /v1 of it."`
}

// ownPaths are those of the gateway itself: what begins with one of them is no path of a door.
var ownPaths = []string{"/api", "/uim", "/pat", "/.well-known", "/errors", "/discovery", "/oauth"}

// ownFiles are single paths of the gateway itself.
var ownFiles = []string{"/agents.json", "/openapi.json", "/policy.json", "/uim-policy.json", "/favicon.svg", "/favicon.ico"}

// checkDoors checks the paths of a service's doors, which must not be in one another's way.
func (l *loader) checkDoors(at string, d *Doors) {
	l.doorPath(at+".mcp.path", d.MCP.Path)
	l.doorPath(at+".a2a.path", d.A2A.Path)
	if d.MCP.Enabled && d.A2A.Enabled && (within(d.MCP.Path, d.A2A.Path) || within(d.A2A.Path, d.MCP.Path)) {
		l.Errorf(at+".a2a.path", "%s and %s are in one another's way", yamlconf.Quote(d.A2A.Path), yamlconf.Quote(d.MCP.Path))
	}
	for i, origin := range d.MCP.Origins {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || origin != u.Scheme+"://"+u.Host {
			l.Errorf(at+".mcp.origins["+strconv.Itoa(i)+"]", "%s is no origin: want scheme and host, as in https://inspector.example.com",
				yamlconf.Quote(origin))
		}
	}
}

func (l *loader) doorPath(at, p string) {
	const most = 200
	switch {
	case !strings.HasPrefix(p, "/") || p == "/" || path.Clean(p) != p || len(p) > most || strings.ContainsFunc(p, notOfPath):
		l.Errorf(at, "%s is no path: want one as in /mcp, of letters, digits, and . _ - /", yamlconf.Quote(p))
	case slices.Contains(ownFiles, p) || slices.ContainsFunc(ownPaths, func(own string) bool { return within(p, own) }):
		l.Errorf(at, "%s is a path of the gateway itself", yamlconf.Quote(p))
	}
}

func notOfPath(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-/", r)
}

// within reports whether a path is another one, or below it.
func within(p, other string) bool { return p == other || strings.HasPrefix(p, other+"/") }
