package mrp

import (
	"bytes"
	"encoding/hex"
	"html/template"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/bindings/mrp/relayhost"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/yamlconf"
)

// Settings are the block doors.mrp of a service. The door is open if the file has the block.
type Settings struct {
	Relay      string      `yaml:"relay" default:"local" doc:"Where agents reach the service: local for the relay of this gateway, which mrp_relay opens, or the URL of another, such as https://relay.mrphub.io."`
	KeyFile    config.File `yaml:"key_file" doc:"File with the seed of the service's key, as agents of the protocol keep it: its 32 bytes, or 64 hexadecimal digits. Empty: made once in the data directory. Several gateways on one store need it."`
	AgentName  string      `yaml:"name" doc:"Name of the agent, of at most 256 characters. Default: that of the service."`
	Visibility Visibility  `yaml:"visibility" default:"public" enum:"public,private" doc:"Whether agents find the service at the relay: public, or private for those who know its key."`

	// Key is the public key of the service, as 43 characters of base64url, once the door has it.
	Key string `yaml:"-"`
	// PublicRelay is the URL of the relay for agents; empty: it is not announced.
	PublicRelay string `yaml:"-"`

	open bool
	seed config.Secret // of KeyFile, as hexadecimal digits; empty: the door makes one
}

// A Visibility decides who can find an agent.
type Visibility string

// The visibilities.
const (
	Public  Visibility = "public"
	Private Visibility = "private"
)

// LocalRelay is the Relay of a service that is an agent on the relay of this process.
const LocalRelay = "local"

// SettingsOf returns the settings of a service; nil: the door is closed.
func SettingsOf(s *service.Definition) *Settings {
	settings, _ := s.Doors[Name].(*Settings)
	return settings
}

// Open implements config.Settings.
func (s *Settings) Open() bool { return s.open }

// Bounds of the settings.
const (
	seedSize = 32  // bytes
	longName = 256 // characters of the name of an agent
)

// Check implements config.Settings.
func (s *Settings) Check(b *config.BlockCheck) {
	if s.open = b.Has(""); !s.open {
		return
	}
	s.checkRelay(b)
	if utf8.RuneCountInString(s.AgentName) > longName || !b.Printable(s.AgentName) {
		b.Errorf("name", "is not a name: want at most %d characters in one line", longName)
	}
	b.OwnKey(s.KeyFile)
	seed, read := b.Secret("key_file", &s.KeyFile)
	if !read {
		return
	}
	if len(seed) != seedSize {
		var err error
		if seed, err = hex.DecodeString(string(bytes.TrimSpace(seed))); err != nil || len(seed) != seedSize {
			b.Errorf("key_file", "%s holds no key: want the 32 bytes of a seed, or 64 hexadecimal digits", s.KeyFile.Path)
			return
		}
	}
	s.seed = config.NewSecret(hex.EncodeToString(seed))
	b.Identity("key_file", s.seed)
}

// checkRelay checks the setting of the relay.
func (s *Settings) checkRelay(b *config.BlockCheck) {
	if s.Relay == LocalRelay {
		if own, ok := b.Config.Module(relayhost.Key).(*relayhost.Settings); ok && own.PublicURL != nil {
			s.PublicRelay = own.PublicURL.String()
		}
		if !b.HasBeside(relayhost.Key) {
			b.Errorf("relay", "is local, but this gateway runs no relay: add a block mrp_relay")
		}
		return
	}
	u, err := config.ParseURL(s.Relay)
	if err != nil {
		b.Errorf("relay", "%s is not a relay: want local, or a URL such as https://relay.mrphub.io", yamlconf.Quote(s.Relay))
		return
	}
	s.Relay = strings.TrimRight((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), "/")
	s.PublicRelay = s.Relay
	if u.Scheme != "https" && !b.Loopback(u.Hostname()) {
		b.Warnf("relay", "is not an https URL: everybody on the way reads the PATs of agents that do not encrypt their messages")
	}
}

var note = template.Must(template.New("").Parse(
	`<p>An agent of the Machine Relay Protocol (MRP) sends its requests to <code>{{.Key}}</code>` +
		`{{with .PublicRelay}} by the relay <code>{{.}}</code>{{else}} by the relay of this gateway{{end}}, and agrees with its own key.</p>`,
))

// Announce implements service.Announcer.
func (s *Settings) Announce(*service.Definition) service.Announcement {
	return service.Announcement{
		Members: []intents.Extra{{Name: "uim-mrp", Value: s.Key}, {Name: "uim-mrp-relay", Value: s.PublicRelay}}, Note: service.NoteOf(note, s),
	}
}
