package uagents

import (
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/uimgate/uimgate/bindings/uagents/almanac"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/regex"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
	"github.com/uimgate/uimgate/internal/yamlconf"
)

// Settings are the block doors.uagents of a service. The door is open if the file has the block, even an empty one.
type Settings struct {
	Path    string      `yaml:"path" default:"/submit" doc:"Path of the door under public_url."`
	KeyFile config.File `yaml:"key_file" doc:"File with the seed of the service's identity, in the format of the uAgents framework: one line of 16 to 1000 characters. Empty: the gateway creates a seed in the data directory. Gateways that share a store need the same file."`
	// The keys of Rules are the addresses of agents: agent1….
	Rules            map[string]Endpoints `yaml:"rules" max:"10000" doc:"Endpoints for replies that are delivered later: a map from the address of an agent to a URL or a list of URLs. The host of a URL may have any network address."`
	Almanac          *url.URL             `yaml:"almanac" doc:"Base URL of the Almanac in which the service registers itself and looks up the endpoints of other agents, such as https://agentverse.ai. Empty: none."`
	Registry         bool                 `yaml:"registry" default:"false" doc:"Whether the service is also an Almanac: agents can register at /v1/almanac, and anyone can look them up there."`
	PrivateEndpoints bool                 `yaml:"private_endpoints" default:"false" doc:"Whether replies are also delivered to endpoints that agents have registered with addresses of private networks or of this machine. Only for closed networks."`

	Mailbox bool `yaml:"mailbox" default:"false" doc:"Whether agents without an endpoint may send envelopes without waiting, and fetch the replies at /v2/agents/<address>/mailbox, as from a mailbox of Agentverse. Replies stay in the memory of the gateway for five minutes."`

	// Unsigned permits envelopes of users, which are not signed.
	Unsigned bool `yaml:"unsigned" default:"false" doc:"Whether users (user1…), whose identity cannot be verified, may send synchronous requests for public information: health, search, policy, tools and chat. Users can neither agree nor call intents."`

	Models []Mapping `yaml:"models" max:"64" doc:"Models of the operator whose messages call intents, for agents that do not support UIM: they send and receive only their own types of messages."`

	// Address is the address of the service in the protocol, agent1…. Door.Prepare sets it.
	Address string `yaml:"-"`

	open bool
	seed config.Secret // the content of KeyFile; empty: the gateway creates a seed
	key  identity.Key  // of the service; Door.Prepare sets it

	mapped   map[envelope.ModelDigest]*modelCall
	manifest *protocol.Manifest // of the models in mapped; nil: none
}

// SettingsOf returns the settings of a service, or nil if the door is closed.
func SettingsOf(s *service.Definition) *Settings {
	settings, _ := s.Doors[Name].(*Settings)
	return settings
}

// settings returns the settings of the service that handles the exchange.
func (x *exchange) settings() *Settings { return SettingsOf(x.Service.Definition) }

// Open implements config.Settings.
func (s *Settings) Open() bool { return s.open }

// Endpoints are the URLs of one agent, written as one URL or as a list.
type Endpoints []*url.URL

// maxEndpoints is the maximum number of Endpoints of one agent.
const maxEndpoints = 10

// SetTree adds the endpoints in a decoded YAML value: a URL, or a list of URLs. It returns an error if the list is empty or too long, or if
// a URL is invalid.
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
		u, err := config.ParseURL(text)
		if err != nil {
			return errEndpoints
		}
		*e = append(*e, u)
	}
	return nil
}

var (
	errEndpoints = fmt.Errorf("want an http:// or https:// URL without user, query and fragment, or a list of 1 to %d such URLs", maxEndpoints)
	// agentAddress matches the form of an address; it does not verify the checksum.
	agentAddress = regex.Lazy(`^agent1[02-9ac-hj-np-z]{59}$`)
)

// Check implements config.Settings.
func (s *Settings) Check(b *config.BlockCheck) {
	if s.open = b.Has(""); !s.open {
		return
	}
	b.Path("path", s.Path)
	b.Claim("path", s.Path)
	if s.Registry {
		b.Claim("registry", almanac.Path)
		if config.Within(s.Path, almanac.Path) {
			b.Errorf("path", "%s conflicts with the paths of the Almanac", yamlconf.Quote(s.Path))
		}
	}
	if s.Mailbox {
		b.Claim("mailbox", mailboxPath)
		if b.Shared() {
			b.Warnf("mailbox", "an agent finds its replies only at the gateway that received its envelopes: route each agent to one gateway")
		}
	}
	for _, address := range slices.Sorted(maps.Keys(s.Rules)) {
		if !agentAddress().MatchString(address) {
			b.Errorf("rules["+strconv.Quote(address)+"]", "is not the address of an agent: want agent1 and 59 more characters")
		}
	}
	if a, own := s.Almanac, b.Service.PublicURL; a != nil && own != nil && b.Loopback(own.Hostname()) && !b.Loopback(a.Hostname()) {
		b.Warnf("almanac", "the service registers itself there with its public_url, which other machines cannot reach")
	}
	s.checkModels(b)
	b.OwnKey(s.KeyFile)
	if s.seed = b.Seed("key_file", &s.KeyFile); !s.seed.IsEmpty() {
		b.Identity("key_file", s.seed)
	}
}

var note = template.Must(template.New("").Parse(
	`<p>Agents of the uAgents protocol send envelopes for <code>{{.Address}}</code> to <code>{{.URL}}</code>, and sign agreements with their own key.</p>`,
))

// Announce implements service.Announcer.
func (s *Settings) Announce(d *service.Definition) service.Announcement {
	at := d.At(s.Path)
	return service.Announcement{
		Members:     []intents.Extra{{Name: "uim-uagents", Value: s.Address}, {Name: "uim-uagents-endpoint", Value: at}},
		EntryPoints: []service.EntryPoint{{Name: Name, URL: at}},
		Note:        service.NoteOf(note, struct{ Address, URL string }{s.Address, at}),
	}
}
