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

// Settings are the block doors.aea of a service. The door is open if the file has the block. An address without a host means the loopback
// address.
type Settings struct {
	KeyFile  config.File `yaml:"key_file" doc:"File with the private key of the service among agents, as the framework keeps keys: 64 hexadecimal digits. Empty: made once in the data directory. Several gateways on one store need it."`
	TCP      string      `yaml:"tcp" doc:"Address and port of the framework's connection tcp, such as 127.0.0.1:8090. Others can read along, and nothing proves the sender: PATs are sent there on this machine only. Empty: none."`
	Delegate string      `yaml:"delegate" doc:"Address and port at which agents connect as to a node of their network (p2p_libp2p_client), by TLS. Empty: none."`
	Mailbox  string      `yaml:"mailbox" doc:"Address and port of a mailbox from which agents take their messages (p2p_libp2p_mailbox), by HTTPS. Empty: none."`
	Stub     string      `yaml:"stub" doc:"Directory of the files for an agent of this machine (fetchai/stub). Empty: none."`
	HTTP     bool        `yaml:"http" default:"true" doc:"Whether requests of the protocol http in messages are answered, as over HTTP."`
	Relay    Relay       `yaml:"relay" doc:"Whether agents that are connected here by delegate or mailbox may write to each other: the gateway relays their messages unread. Off unless this block is present."`
	// Clear concerns connections that are not confidential.
	Clear             bool              `yaml:"pats_in_clear" default:"false" doc:"Whether PATs are sent by tcp to other machines as well, where anyone on the network path can read them. Only for closed networks."`
	DefaultConnection ConnectionName    `yaml:"default_connection" enum:"tcp,delegate,mailbox,stub" doc:"Connection of messages that answer none. Empty: the first that is open."`
	DefaultRouting    map[string]string `yaml:"default_routing" max:"100" doc:"Connections of messages that answer none, by the specification id of their protocol, such as fetchai/default:1.0.0."`

	// Address is the address of the service among these agents, fetch1…, and NodeKey its public key, once the door has its key.
	Address string `yaml:"-"`
	NodeKey string `yaml:"-"`

	open bool
	key  config.Secret // of KeyFile; empty: the door makes one
}

// A Relay passes on messages between agents.
type Relay struct {
	PerAgent limit.Rate `yaml:"per_agent" default:"600/minute" doc:"Messages of one agent to others."`

	enabled bool
}

// A ConnectionName names a connection for agents of the AEA framework: tcp, delegate, mailbox or stub.
type ConnectionName string

// SettingsOf returns the settings of a service; nil: the door is closed.
func SettingsOf(s *service.Definition) *Settings {
	settings, _ := s.Doors[Name].(*Settings)
	return settings
}

// Open implements config.Settings.
func (s *Settings) Open() bool { return s.open }

// connections lists the configured connections, in the order in which the default is chosen.
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

// protocolID is the form of a specification id.
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
		b.Errorf("relay", "neither delegate nor mailbox is open: only there is it known for certain who writes")
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
			b.Errorf(entry, "want a connection that is open: tcp, delegate, mailbox or stub")
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
