package service

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/limit"
)

// Doors are the other protocols by which agents may come to a service.
type Doors struct {
	MCP MCPDoor
	A2A A2ADoor
	// UAgents has its Address from the moment at which the service is served.
	UAgents UAgentsDoor
	// AEA has its Address and NodeKey from that moment on as well.
	AEA AEADoor
	// MRP has its Key from that moment on as well.
	MRP MRPDoor
}

// An MCPDoor is the endpoint of the Model Context Protocol.
type MCPDoor struct {
	Path     string // empty: it is shut
	PageSize int    // tools in one answer
	Origins  []string
	// Consent: people may agree on the gateway's own page, for clients without a key.
	Consent    bool
	ConsentFor time.Duration // after a consent, in which its client gets further tokens
}

// An A2ADoor is the endpoint of Agent2Agent.
type A2ADoor struct {
	Path string // of JSON-RPC; HTTP+JSON is at /v1 below it; empty: it is shut
}

// A UAgentsDoor is where agents of the uAgents protocol send their envelopes.
type UAgentsDoor struct {
	Path    string // empty: it is shut
	Address string // of the service among these agents: agent1…
	// Rules are the URLs at which agents take answers, by address, as the operator has them.
	Rules            map[string][]string
	Almanac          string // base URL of the one that is asked about other agents; empty: none
	Registry         bool   // the service is an Almanac itself
	PrivateEndpoints bool   // answers go to every address that an agent gives
	Unsigned         bool   // users, whom nothing proves, may ask for what is public

	seed config.Secret // of the identity; empty: made once
}

// An AEADoor is where agents of the AEA framework come in. Empty addresses are shut.
type AEADoor struct {
	Open    bool
	Address string // of the service among these agents: fetch1…
	NodeKey string // its public key, by which agents know it as a node of their network

	TCP, Delegate, Mailbox string     // host:port to listen on
	Stub                   string     // directory
	HTTP                   bool       // requests in messages are answered
	Relay                  limit.Rate // messages of one agent to others, through the service; zero: none
	Clear                  bool       // PATs are told over connections that others can read
	// DefaultConnection and DefaultRouting, by specification id, name the connections of messages that answer none.
	DefaultConnection string
	DefaultRouting    map[string]string

	key config.Secret // empty: made once
}

// LocalRelay is the Relay of a service that is an agent on the relay of this process.
const LocalRelay = config.LocalRelay

// An MRPDoor makes the service an agent on a relay of the Machine Relay Protocol.
type MRPDoor struct {
	Open    bool
	Key     string // of the service: its Ed25519 public key, as 43 characters of base64url
	Relay   string // LocalRelay, or the URL of another
	Name    string // of the agent; empty: that of the service
	Private bool   // only who knows its key reaches it
	At      string // URL of the relay for agents; empty: nobody says

	seed config.Secret // empty: made once
}

func doorsOf(c *config.Doors, p *config.PAT, relay *config.MRPRelay) (d Doors) {
	if c.MCP.Enabled {
		d.MCP = MCPDoor{
			Path: c.MCP.Path, PageSize: c.MCP.PageSize, Origins: c.MCP.Origins,
			Consent: c.MCP.Consent && p.Freshness == config.FreshnessOptional, ConsentFor: c.MCP.ConsentFor,
		}
	}
	if c.A2A.Enabled {
		d.A2A = A2ADoor{Path: c.A2A.Path}
	}
	if c.UAgents.Enabled {
		d.UAgents = uagentsOf(&c.UAgents)
	}
	if a := &c.AEA; a.Enabled {
		d.AEA = AEADoor{
			Open: true, TCP: a.TCP, Delegate: a.Delegate, Mailbox: a.Mailbox, Stub: a.Stub, HTTP: a.HTTP, Clear: a.Clear,
			DefaultConnection: string(a.DefaultConnection), DefaultRouting: a.DefaultRouting, key: a.Key,
		}
		if a.Relay.Enabled {
			d.AEA.Relay = a.Relay.PerAgent
		}
		if open := a.Open(); a.DefaultConnection == "" && len(open) > 0 {
			d.AEA.DefaultConnection = string(open[0])
		}
	}
	if m := &c.MRP; m.Enabled {
		d.MRP = MRPDoor{Open: true, Relay: m.Relay, Name: m.Name, Private: m.Visibility == config.MRPPrivate, At: m.Relay, seed: m.Seed}
		if m.Relay == config.LocalRelay {
			if d.MRP.At = ""; relay.PublicURL != nil {
				d.MRP.At = relay.PublicURL.String()
			}
		}
	}
	return d
}

func uagentsOf(c *config.UAgentsDoor) UAgentsDoor {
	d := UAgentsDoor{Path: c.Path, Rules: map[string][]string{}, Registry: c.Registry, PrivateEndpoints: c.PrivateEndpoints, seed: c.Seed}
	d.Unsigned = c.Unsigned
	for address, endpoints := range c.Rules {
		for _, u := range endpoints {
			d.Rules[address] = append(d.Rules[address], u.String())
		}
	}
	if c.Almanac != nil {
		d.Almanac = c.Almanac.String()
	}
	return d
}

// MCPURL is the URL of the MCP endpoint; empty where it is shut.
func (d *Definition) MCPURL() string { return d.urlOf(d.Doors.MCP.Path) }

// A2AURL is the URL of the A2A endpoint by JSON-RPC; empty where it is shut.
func (d *Definition) A2AURL() string { return d.urlOf(d.Doors.A2A.Path) }

// UAgentsURL is where envelopes of the uAgents protocol are sent; empty where that door is shut.
func (d *Definition) UAgentsURL() string { return d.urlOf(d.Doors.UAgents.Path) }

// AgentCardPath is where the agent card of A2A is. A2A 1.0, 8.2.
const AgentCardPath = "/.well-known/agent-card.json"

// AgentCardURL is the URL of the agent card; empty where A2A is shut.
func (d *Definition) AgentCardURL() string {
	if d.Doors.A2A.Path == "" {
		return ""
	}
	return d.At(AgentCardPath)
}

// MRPRelayURL is the relay at which the service is reached by MRP; empty: nobody says, or the door is shut.
func (d *Definition) MRPRelayURL() string { return d.Doors.MRP.At }

// urlOf is the URL of a door; empty where it is shut.
func (d *Definition) urlOf(path string) string {
	if path == "" {
		return ""
	}
	return d.At(path)
}

// Origins are those of the service's own pages: scheme, host and port of PublicURL; where that is loopback, by each of its
// names. RFC 6454 6.2.
func (d *Definition) Origins() []string {
	scheme, host := strings.ToLower(d.PublicURL.Scheme)+"://", strings.ToLower(d.PublicURL.Host)
	list := []string{scheme + host}
	if isLoopback(HostName(host)) {
		port := ""
		if p := d.PublicURL.Port(); p != "" {
			port = ":" + p
		}
		for _, name := range loopbackNames {
			list = append(list, scheme+name+port)
		}
	}
	return list
}

var loopbackNames = []string{"localhost", "127.0.0.1", "[::1]"}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// KnownAs reports whether a Host, with or without its port, is one that the service is configured for, that of its PublicURL,
// or this machine's own.
func (d *Definition) KnownAs(host string) bool {
	name := HostName(host)
	return isLoopback(name) || name == HostName(d.PublicURL.Host) ||
		slices.ContainsFunc(d.hosts, func(own string) bool { return HostName(own) == name })
}
