package config

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/regex"
	"github.com/uimgate/uimgate/internal/yamlconf"
)

// Doors are the other protocols by which agents may come to a service.
type Doors struct {
	MCP MCPDoor `yaml:"mcp" doc:"The Model Context Protocol, for assistants and agent frameworks: intents are tools."`
	A2A A2ADoor `yaml:"a2a" doc:"Agent2Agent 1.0: intents are skills."`
	// UAgents is open where its block stands in the file, even an empty one.
	UAgents UAgentsDoor `yaml:"uagents" doc:"The uAgents protocol: signed envelopes, answered in the response or later. Shut unless this block stands there; it may be {}."`
	// AEA is open where its block stands in the file.
	AEA AEADoor `yaml:"aea" doc:"The AEA framework: the service is an agent that negotiates and executes. Shut unless this block stands there."`
	// MRP is open where its block stands in the file.
	MRP MRPDoor `yaml:"mrp" doc:"The Machine Relay Protocol: the service is an agent on a relay, which answers messages. Shut unless this block stands there."`
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

// A UAgentsDoor is where agents of the uAgents protocol send their envelopes.
type UAgentsDoor struct {
	Path    string `yaml:"path" default:"/submit" doc:"Its path under public_url."`
	KeyFile File   `yaml:"key_file" doc:"File with the seed of the service's identity, as the programs of these agents take it: one line of 16 to 1000 characters. Empty: made once in the data directory. Several gateways on one store need it."`
	// Rules are by address: agent1….
	Rules            map[string]Endpoints `yaml:"rules" max:"10000" doc:"Where agents take answers that are delivered later: address to URL, or a list of URLs, anywhere."`
	Almanac          *url.URL             `yaml:"almanac" doc:"Base URL of the Almanac in which the service registers itself, and which is asked where other agents take answers, such as https://agentverse.ai. Empty: none."`
	Registry         bool                 `yaml:"registry" default:"false" doc:"Whether the service is an Almanac itself: agents register at /v1/almanac, and anyone may ask there."`
	PrivateEndpoints bool                 `yaml:"private_endpoints" default:"false" doc:"Whether answers are also delivered to private addresses, and those of this machine, that an agent itself has given as its endpoint. Only for closed networks."`

	// Unsigned is about envelopes of users, which are not signed.
	Unsigned bool `yaml:"unsigned" default:"false" doc:"Whether users (user1…), whom nothing proves, may ask for what is public, and wait for the answer: health, search, policy, tools and chat. They neither agree nor call."`

	Enabled bool   `yaml:"-"`
	Seed    Secret `yaml:"-"` // of KeyFile, whose Data is not kept; empty: made in the data directory
}

// Endpoints are URLs at which one agent is reached, written as one URL or as a list.
type Endpoints []*url.URL

// maxEndpoints bounds the Endpoints of one agent.
const maxEndpoints = 10

// SetTree takes the value as YAML has it.
func (e *Endpoints) SetTree(tree any) error {
	list, isList := tree.([]any)
	if !isList {
		list = []any{tree}
	}
	if len(list) == 0 || len(list) > maxEndpoints {
		return errEndpoints
	}
	for _, item := range list {
		text, _ := item.(string)
		u, err := parseURL(text)
		if err != nil {
			return errEndpoints
		}
		*e = append(*e, u)
	}
	return nil
}

var (
	errEndpoints = fmt.Errorf("want an http:// or https:// URL without user, query and fragment, or a list of 1 to %d", maxEndpoints)
	// agentAddress is the form of an address; its checksum is not looked at.
	agentAddress = regex.Lazy(`^agent1[02-9ac-hj-np-z]{59}$`)
)

// Bounds of a seed, in bytes.
const (
	shortSeed = 16
	longSeed  = 1000
)

// ownPaths are those of the gateway itself: what begins with one of them is no path of a door.
var ownPaths = []string{"/api", "/uim", "/pat", "/.well-known", "/errors", "/discovery", "/oauth"}

// almanacPath is where a service is an Almanac, if it is one.
const almanacPath = "/v1/almanac"

// ownFiles are single paths of the gateway itself.
var ownFiles = []string{
	"/agent_info", "/uagents/manifest", "/agents.json", "/openapi.json", "/policy.json", "/uim-policy.json", "/favicon.svg", "/favicon.ico",
}

// checkDoors checks the paths of a service's doors, which must not be in one another's way.
func (l *loader) checkDoors(at string, d *Doors) {
	l.doorPath(at+".mcp.path", d.MCP.Path)
	l.doorPath(at+".a2a.path", d.A2A.Path)
	if d.MCP.Enabled && d.A2A.Enabled && (within(d.MCP.Path, d.A2A.Path) || within(d.A2A.Path, d.MCP.Path)) {
		l.Errorf(at+".a2a.path", "%s and %s are in one another's way", yamlconf.Quote(d.A2A.Path), yamlconf.Quote(d.MCP.Path))
	}
	l.checkUAgents(at+".uagents", d)
	for i, origin := range d.MCP.Origins {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || origin != u.Scheme+"://"+u.Host {
			l.Errorf(at+".mcp.origins["+strconv.Itoa(i)+"]", "%s is no origin: want scheme and host, as in https://inspector.example.com",
				yamlconf.Quote(origin))
		}
	}
}

// checkUAgents opens the door where its block stands, and reads the seed.
func (l *loader) checkUAgents(at string, d *Doors) {
	u := &d.UAgents
	if u.Enabled = l.Has(at); !u.Enabled {
		return
	}
	l.doorPath(at+".path", u.Path)
	for _, other := range []struct {
		open bool
		path string
	}{{d.MCP.Enabled, d.MCP.Path}, {d.A2A.Enabled, d.A2A.Path}} {
		if other.open && (within(u.Path, other.path) || within(other.path, u.Path)) {
			l.Errorf(at+".path", "%s and %s are in one another's way", yamlconf.Quote(u.Path), yamlconf.Quote(other.path))
		}
		if other.open && u.Registry && (within(almanacPath, other.path) || within(other.path, almanacPath)) {
			l.Errorf(at+".registry", "%s and %s are in one another's way", yamlconf.Quote(almanacPath), yamlconf.Quote(other.path))
		}
	}
	if u.Registry && within(u.Path, almanacPath) {
		l.Errorf(at+".path", "%s is a path of the Almanac", yamlconf.Quote(u.Path))
	}
	for _, address := range slices.Sorted(maps.Keys(u.Rules)) {
		if !agentAddress().MatchString(address) {
			l.Errorf(at+".rules["+strconv.Quote(address)+"]", "is no address of an agent: want agent1 and 59 characters more")
		}
	}
	if u.KeyFile.Path == "" {
		return
	}
	read := l.readInto(at+".key_file", &u.KeyFile, maxSecretFile, true)
	seed := strings.TrimRight(string(u.KeyFile.Data), "\r\n")
	u.KeyFile.Data, u.KeyFile.SHA256 = nil, ""
	switch {
	case !read:
	case !isSeed(seed):
		l.Errorf(at+".key_file", "%s holds no seed: want one line of %d to %d characters", u.KeyFile.Path, shortSeed, longSeed)
	default:
		u.Seed = newSecret(seed)
	}
}

// isSeed reports whether a text may be a seed: UTF-8 in one line.
func isSeed(s string) bool {
	return len(s) >= shortSeed && len(s) <= longSeed && utf8.ValidString(s) && !strings.ContainsAny(s, "\r\n")
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
