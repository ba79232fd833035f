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
	"github.com/uimgate/uimgate/internal/yamlconf"
)

// Settings are the block doors.uagents of a service. The door is open if the file has the block, even an empty one.
type Settings struct {
	Path    string      `yaml:"path" default:"/submit" doc:"Its path under public_url."`
	KeyFile config.File `yaml:"key_file" doc:"File with the seed of the service's identity, as the programs of these agents take it: one line of 16 to 1000 characters. Empty: made once in the data directory. Several gateways on one store need it."`
	// Rules are by address: agent1….
	Rules            map[string]Endpoints `yaml:"rules" max:"10000" doc:"Where agents take answers that are delivered later: address to URL, or a list of URLs, anywhere."`
	Almanac          *url.URL             `yaml:"almanac" doc:"Base URL of the Almanac in which the service registers itself, and which is asked where other agents take answers, such as https://agentverse.ai. Empty: none."`
	Registry         bool                 `yaml:"registry" default:"false" doc:"Whether the service is an Almanac itself: agents register at /v1/almanac, and anyone may ask there."`
	PrivateEndpoints bool                 `yaml:"private_endpoints" default:"false" doc:"Whether answers are also delivered to private addresses, and those of this machine, that an agent itself has given as its endpoint. Only for closed networks."`

	// Unsigned concerns envelopes of users, which are not signed.
	Unsigned bool `yaml:"unsigned" default:"false" doc:"Whether users (user1…), whom nothing proves, may ask for what is public, and wait for the answer: health, search, policy, tools and chat. They neither agree nor call."`

	// Address is the address of the service among these agents, agent1…, once the door has its key.
	Address string `yaml:"-"`

	open bool
	seed config.Secret // of KeyFile; empty: the door makes one
}

// SettingsOf returns the settings of a service; nil: the door is closed.
func SettingsOf(s *service.Definition) *Settings {
	settings, _ := s.Doors[Name].(*Settings)
	return settings
}

// settings returns those of the service that the exchange is with.
func (x *exchange) settings() *Settings { return SettingsOf(x.Service.Definition) }

// Open implements config.Settings.
func (s *Settings) Open() bool { return s.open }

// Endpoints are the URLs of one agent, written as one URL or as a list.
type Endpoints []*url.URL

// maxEndpoints bounds the Endpoints of one agent.
const maxEndpoints = 10

// SetTree takes the value in its YAML form.
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
	errEndpoints = fmt.Errorf("want an http:// or https:// URL without user, query and fragment, or a list of 1 to %d", maxEndpoints)
	// agentAddress is the form of an address; it does not check the checksum.
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
			b.Errorf("path", "%s is a path of the Almanac", yamlconf.Quote(s.Path))
		}
	}
	for _, address := range slices.Sorted(maps.Keys(s.Rules)) {
		if !agentAddress().MatchString(address) {
			b.Errorf("rules["+strconv.Quote(address)+"]", "is not an address of an agent: want agent1 and 59 characters more")
		}
	}
	if a, own := s.Almanac, b.Service.PublicURL; a != nil && own != nil && b.Loopback(own.Hostname()) && !b.Loopback(a.Hostname()) {
		b.Warnf("almanac", "the service registers itself there with its public_url, which no other machine reaches")
	}
	b.OwnKey(s.KeyFile)
	if s.seed = b.Seed("key_file", &s.KeyFile); !s.seed.IsEmpty() {
		b.Identity("key_file", s.seed)
	}
}

var note = template.Must(template.New("").Parse(
	`<p>An agent of the uAgents protocol sends its envelopes for <code>{{.Address}}</code> to <code>{{.URL}}</code>, and agrees with its own key.</p>`,
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
