package aea

import (
	"html/template"
	"maps"
	"slices"
	"strconv"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/regex"
)

// Settings is the configuration block doors.aea of a service. The door is open if the block is present. In addresses, the default host is
// the loopback address.
type Settings struct {
	KeyFile  config.File `yaml:"key_file" doc:"File with the private key of the service as an agent, in the format of the framework: 64 hexadecimal digits. Empty: a key is created once in the data directory. Required if several gateways use one store."`
	TCP      string      `yaml:"tcp" doc:"Address and port of the framework's connection tcp, such as 127.0.0.1:8090. The connection is not encrypted and does not authenticate agents, so PATs are sent only to agents on this machine. Empty: none."`
	Delegate string      `yaml:"delegate" doc:"Address and port at which agents connect over TLS, as to a node of their network (p2p_libp2p_client). Empty: none."`
	Mailbox  string      `yaml:"mailbox" doc:"Address and port of a mailbox from which agents fetch their messages over HTTPS (p2p_libp2p_mailbox). Empty: none."`
	Stub     string      `yaml:"stub" doc:"Directory of the files that an agent on this machine uses (fetchai/stub). Empty: none."`
	HTTP     bool        `yaml:"http" default:"true" doc:"Whether the service executes requests in messages of the protocol http, as it does over HTTP."`
	Relay    Relay       `yaml:"relay" doc:"Whether agents that are connected by delegate or mailbox may send messages to each other. The gateway relays the messages without reading them. Off unless this block is present."`
	// Clear applies to connections that are not confidential.
	Clear             bool              `yaml:"pats_in_clear" default:"false" doc:"Whether PATs are also sent by tcp to other machines, although anyone on the network path can read them. Only for closed networks."`
	DefaultConnection ConnectionName    `yaml:"default_connection" enum:"tcp,delegate,mailbox,stub" doc:"Connection for messages that are not replies. Empty: the first open connection."`
	DefaultRouting    map[string]string `yaml:"default_routing" max:"100" doc:"Connections for messages that are not replies, by the specification id of their protocol, such as fetchai/default:1.0.0."`

	// Address is the address of the service as an agent, fetch1…, and NodeKey is its public key. Door.Prepare sets both.
	Address string `yaml:"-"`
	NodeKey string `yaml:"-"`

	open bool
	key  config.Secret // the contents of KeyFile; empty: the door creates a key
}

// A Relay is the configuration block relay.
type Relay struct {
	PerAgent limit.Rate `yaml:"per_agent" default:"600/minute" doc:"Limit on the messages that one agent sends to other agents."`

	enabled bool
}

// A ConnectionName names a connection for agents of the AEA framework: tcp, delegate, mailbox or stub.
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
	return open
}

// protocolID matches the specification id of a protocol.
var protocolID = regex.Lazy(`^[a-zA-Z_][a-zA-Z0-9_]{0,127}/[a-zA-Z_][a-zA-Z0-9_]{0,127}:[0-9]+\.[0-9]+\.[0-9]+$`)

// Check implements config.Settings.
func (s *Settings) Check(b *config.BlockCheck) {
	if s.open = b.Has(""); !s.open {
		return
	}
	b.Listener("tcp", s.TCP)
	b.Listener("delegate", s.Delegate)
	b.Listener("mailbox", s.Mailbox)
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
			b.Errorf(entry, "want an open connection: tcp, delegate, mailbox or stub")
		}
	}
	if s.Stub != "" {
		s.Stub = b.File(s.Stub)
	}
	b.OwnKey(s.KeyFile)
	s.key = b.PrivateKey("key_file", &s.KeyFile)
}

var note = template.Must(template.New("").Parse(
	`<p>An agent of the AEA framework negotiates with <code>{{.}}</code>, and agrees with its own key.</p>`,
))

// Announce implements service.Announcer.
func (s *Settings) Announce(*service.Definition) service.Announcement {
	return service.Announcement{Members: []intents.Extra{{Name: "uim-aea", Value: s.Address}}, Note: service.NoteOf(note, s.Address)}
}
