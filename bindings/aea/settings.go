package aea

import (
	"cmp"
	"html/template"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/bindings/aea/skill"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/regex"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

// Settings is the configuration block doors.aea of a service. The door is open if the block is present. In addresses, the default host is
// the loopback address.
type Settings struct {
	KeyFile  config.File `yaml:"key_file" doc:"File with the private key of the service as an agent, in the format of the framework: 64 hexadecimal digits. Empty: a key is created once in the data directory. Required if several gateways use one store."`
	TCP      string      `yaml:"tcp" doc:"Address and port of the framework's connection tcp, such as 127.0.0.1:8090. The connection is not encrypted and does not authenticate agents, so PATs are sent only to agents on this machine. Empty: none."`
	Delegate string      `yaml:"delegate" doc:"Address and port at which agents connect over TLS, as to a node of their network (p2p_libp2p_client). Empty: none."`
	Mailbox  string      `yaml:"mailbox" doc:"Address and port of a mailbox from which agents fetch their messages over HTTPS (p2p_libp2p_mailbox). Empty: none."`
	Stub     string      `yaml:"stub" doc:"Directory of the files that an agent on this machine uses (fetchai/stub). Empty: none."`
	HTTP     bool        `yaml:"http" default:"true" doc:"Whether the service executes requests in messages of the http protocol, as it does over HTTP."`
	Relay    Relay       `yaml:"relay" doc:"Whether agents that are connected by delegate or mailbox may send messages to each other. The gateway relays the messages without reading them. Off unless this block is present."`
	// Clear applies to connections that are not confidential.
	Clear             bool              `yaml:"pats_in_clear" default:"false" doc:"Whether PATs are also sent over tcp to other machines, although anyone on the network path can read them. Only for closed networks."`
	Connections       Connections       `yaml:"connections" doc:"Connections inside the process, and those of skills to HTTP."`
	DefaultConnection ConnectionName    `yaml:"default_connection" enum:"tcp,delegate,mailbox,stub,local" doc:"Connection for messages that are not replies. Empty: the first open connection."`
	DefaultRouting    map[string]string `yaml:"default_routing" max:"100" doc:"Connections for messages that are not replies, by the specification id of their protocol, such as fetchai/default:1.0.0."`

	Skills     Skills            `yaml:"skills" doc:"Skills of the agent, besides the one that offers the intents. A reload adds and removes them while the agent runs."`
	Location   string            `yaml:"location" default:"0,0" doc:"Location of the service that agents find in a search: latitude and longitude in degrees, such as 51.5194,0.1270."`
	Attributes map[string]string `yaml:"attributes" max:"32" doc:"Further names of attributes in searches and calls for proposals: a map from the name to an attribute of intents, such as intent_uid. Empty: seller_service is intent_uid, as the skills of the framework expect."`
	Directory  Directory         `yaml:"directory" doc:"Agent of another operator that keeps a directory, in which the service registers its intents too."`

	// Address is the address of the service as an agent, fetch1…, and NodeKey is its public key. Door.Prepare sets both.
	Address string `yaml:"-"`
	NodeKey string `yaml:"-"`

	open      bool
	key       config.Secret // the contents of KeyFile; if they are empty, Door.Prepare sets the key in the data directory
	identity  identity.Key  // the same key; Door.Prepare sets it
	location  search.Location
	httpSkill wire.PublicID // the parsed Connections.HTTPServerSkill
}

// Connections is the configuration block connections.
type Connections struct {
	Local           bool   `yaml:"local" default:"false" doc:"Whether the agent exchanges messages with the agents of the other services of this process that have this connection."`
	HTTPServer      string `yaml:"http_server" doc:"Address and port at which a skill receives HTTP requests as messages of the http protocol, such as 127.0.0.1:8095. The connection is not encrypted. Empty: none."`
	HTTPServerSkill string `yaml:"http_server_skill" default:"uimgate/intents:1.0.0" doc:"Complete id of the skill that receives the requests of http_server. The skill intents executes them as the API does."`
	HTTPClient      bool   `yaml:"http_client" default:"false" doc:"Whether skills can send requests to HTTP servers, in messages of the http protocol to uimgate/http_client:1.0.0. A server must have a public address and use https, or be on this machine."`
}

// Skills is the configuration block skills.
type Skills struct {
	Search bool     `yaml:"search" default:"true" doc:"Whether agents can register with the agent of the service, and search for it and for each other, with the protocols oef_search and oef."`
	Echo   bool     `yaml:"echo" default:"false" doc:"Whether the agent returns bytes that are not calls, to test a connection."`
	Own    []string `yaml:"own" max:"32" doc:"Names of skills that the program adds with RegisterSkill."`
	// Disabled does not remove skills, so they keep their state.
	Disabled []string `yaml:"disabled" max:"35" doc:"Skills that receive no messages and do not act, but keep their state: intents, search, echo, or the name of one of your own."`
}

// has reports whether the agent has the skill with this name in the configuration.
func (s *Skills) has(name string) bool {
	return name == "intents" || name == "search" && s.Search || name == "echo" && s.Echo || slices.Contains(s.Own, name)
}

// A Directory is the configuration block directory.
type Directory struct {
	Address    string         `yaml:"address" doc:"Address of the agent, such as fetch1…, which must be connected to this agent. Empty: none."`
	Connection ConnectionName `yaml:"connection" enum:"tcp,delegate,mailbox,stub,local" doc:"Connection to the agent. Empty: the one on which the agent was last heard, or the one of default_routing and default_connection."`
}

// changeable returns the settings without those that a running agent can change.
func (s *Settings) changeable() Settings {
	fixed := *s
	fixed.Skills, fixed.Location, fixed.location, fixed.Attributes, fixed.Directory = Skills{}, "", search.Location{}, nil, Directory{}
	return fixed
}

// A Relay is the configuration block relay.
type Relay struct {
	PerAgent limit.Rate `yaml:"per_agent" default:"600/minute" doc:"Limit on the messages that one agent sends to other agents."`

	enabled bool
}

// A ConnectionName names a connection for agents of the AEA framework: tcp, delegate, mailbox, stub or local.
type ConnectionName string

// SettingsOf returns the settings of a service, or nil if the door is closed.
func SettingsOf(s *service.Definition) *Settings {
	settings, _ := s.Doors[Name].(*Settings)
	return settings
}

// Open implements config.Settings.
func (s *Settings) Open() bool { return s.open }

// connections lists the configured connections. The first is the default.
func (s *Settings) connections() (open []ConnectionName) {
	for _, c := range []struct {
		name ConnectionName
		at   string
	}{{"delegate", s.Delegate}, {"mailbox", s.Mailbox}, {"tcp", s.TCP}, {"stub", s.Stub}} {
		if c.at != "" {
			open = append(open, c.name)
		}
	}
	if s.Connections.Local {
		open = append(open, "local")
	}
	return open
}

// protocolID matches a complete public id, such as the specification id of a protocol.
var protocolID = regex.Lazy(`^[a-zA-Z_][a-zA-Z0-9_]{0,127}/[a-zA-Z_][a-zA-Z0-9_]{0,127}:[0-9]+\.[0-9]+\.[0-9]+$`)

// Check implements config.Settings.
func (s *Settings) Check(b *config.BlockCheck) {
	if s.open = b.Has(""); !s.open {
		return
	}
	b.Listener("tcp", s.TCP)
	b.Listener("delegate", s.Delegate)
	b.Listener("mailbox", s.Mailbox)
	s.checkHTTP(b)
	open := s.connections()
	if s.Relay.enabled = b.Has("relay"); s.Relay.enabled && len(open) > 0 && s.Delegate == "" && s.Mailbox == "" {
		b.Errorf("relay", "needs delegate or mailbox: only these connections authenticate the sender of a message")
	}
	if s.DefaultConnection != "" && !slices.Contains(open, s.DefaultConnection) {
		b.Errorf("default_connection", "%s is not open", s.DefaultConnection)
	}
	for _, id := range slices.Sorted(maps.Keys(s.DefaultRouting)) {
		entry := "default_routing[" + strconv.Quote(id) + "]"
		if !protocolID().MatchString(id) {
			b.Errorf(entry, "is not a specification id of a protocol, such as fetchai/default:1.0.0")
		}
		if !slices.Contains(open, ConnectionName(s.DefaultRouting[id])) {
			b.Errorf(entry, "want an open connection: tcp, delegate, mailbox, stub or local")
		}
	}
	s.checkFinding(b, open)
	if s.Stub != "" {
		s.Stub = b.File(s.Stub)
	}
	b.OwnKey(s.KeyFile)
	s.key = b.PrivateKey("key_file", &s.KeyFile)
}

// checkHTTP checks the connection http_server.
func (s *Settings) checkHTTP(b *config.BlockCheck) {
	b.Listener("connections.http_server", s.Connections.HTTPServer)
	id, err := wire.ParsePublicID(s.Connections.HTTPServerSkill)
	if err != nil || !protocolID().MatchString(s.Connections.HTTPServerSkill) {
		b.Errorf("connections.http_server_skill", "is not the complete id of a skill, such as %s", skill.ID)
	}
	s.httpSkill = id
}

// aliases returns Attributes, or the default.
func (s *Settings) aliases() map[string]string {
	if len(s.Attributes) == 0 {
		return skill.DefaultAttributes()
	}
	return s.Attributes
}

// attributeNames are the attributes of intents that can have further names.
var attributeNames = []string{"intent_uid", "intent_name", "namespace", "version", "category", "description"}

// checkFinding checks how the service registers itself and finds others.
func (s *Settings) checkFinding(b *config.BlockCheck, open []ConnectionName) {
	lat, lon, _ := strings.Cut(s.Location, ",")
	var err1, err2 error
	s.location.Lat, err1 = strconv.ParseFloat(strings.TrimSpace(lat), 64)
	s.location.Lon, err2 = strconv.ParseFloat(strings.TrimSpace(lon), 64)
	if err1 != nil || err2 != nil || !(math.Abs(s.location.Lat) <= 90) || !(math.Abs(s.location.Lon) <= 180) {
		b.Errorf("location", "want latitude and longitude in degrees, such as 51.5194,0.1270")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Attributes)) {
		if name == "" || len(name) > 128 || slices.Contains(attributeNames, name) || !slices.Contains(attributeNames, s.Attributes[name]) {
			b.Errorf("attributes["+strconv.Quote(name)+"]", "want a new name, and one of %s", strings.Join(attributeNames, ", "))
		}
	}
	for i, name := range s.Skills.Own {
		if factory(name) == nil || slices.Contains(s.Skills.Own[:i], name) {
			adds := cmp.Or(strings.Join(factoryNames(), ", "), "none")
			b.Errorf("skills.own["+strconv.Itoa(i)+"]", "want each skill that this program adds at most once; it adds: %s", adds)
		}
	}
	for i, name := range s.Skills.Disabled {
		if !s.Skills.has(name) || slices.Contains(s.Skills.Disabled[:i], name) {
			b.Errorf("skills.disabled["+strconv.Itoa(i)+"]", "want each skill of the agent at most once: intents, search, echo, or the name of one of your own")
		}
	}
	if s.Directory.Address != "" && !wire.IsAgent(s.Directory.Address) {
		b.Errorf("directory.address", "is not the address of an agent")
	}
	if s.Directory.Connection != "" && !slices.Contains(open, s.Directory.Connection) {
		b.Errorf("directory.connection", "%s is not open", s.Directory.Connection)
	}
}

var note = template.Must(template.New("").Parse(
	`<p>An agent of the AEA framework negotiates with <code>{{.}}</code>, and agrees with its own key.</p>`,
))

// Announce implements service.Announcer.
func (s *Settings) Announce(*service.Definition) service.Announcement {
	return service.Announcement{Members: []intents.Extra{{Name: "uim-aea", Value: s.Address}}, Note: service.NoteOf(note, s.Address)}
}
