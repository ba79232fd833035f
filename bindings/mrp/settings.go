package mrp

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
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
	Relay      string      `yaml:"relay" default:"local" doc:"The relay through which agents reach the service: local for the relay of this gateway (see mrp_relay), or the URL of another relay, such as https://relay.mrphub.io."`
	KeyFile    config.File `yaml:"key_file" doc:"File with the seed of the service's Ed25519 key, in the format that agents of the protocol use: 32 bytes, or 64 hexadecimal digits. Empty: the gateway creates a key in the data directory. Gateways that share a store need the same file."`
	AgentName  string      `yaml:"name" doc:"Name of the agent, at most 256 characters. Default: the name of the service."`
	Visibility Visibility  `yaml:"visibility" default:"public" enum:"public,private" doc:"Whether agents can find the service at the relay: public, or private, which means that only agents that know its key can reach it."`

	// Key is the public key of the service, as 43 characters of base64url. Door.Prepare sets it.
	Key string `yaml:"-"`
	// PublicRelay is the URL at which agents reach the relay. If it is empty, the relay is not announced.
	PublicRelay string `yaml:"-"`

	open bool
	seed config.Secret // the content of KeyFile, as hexadecimal digits; if it is empty, Door.Prepare sets the seed in the data directory
}

var errSeed = errors.New("want a 32-byte Ed25519 seed, as 64 hexadecimal digits")

// private returns the private key of the service. It returns errSeed if the seed is not valid.
func (s *Settings) private() (ed25519.PrivateKey, error) {
	seed, err := hex.DecodeString(s.seed.Reveal())
	if err != nil || len(seed) != seedSize {
		return nil, errSeed
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// A Visibility decides who can find an agent.
type Visibility string

// The values of Visibility.
const (
	Public  Visibility = "public"
	Private Visibility = "private"
)

// LocalRelay is the value of Settings.Relay that selects the relay of this process.
const LocalRelay = "local"

// SettingsOf returns the settings of a service, or nil if the door is closed.
func SettingsOf(s *service.Definition) *Settings {
	settings, _ := s.Doors[Name].(*Settings)
	return settings
}

// Open implements config.Settings.
func (s *Settings) Open() bool { return s.open }

// Bounds of the settings.
const (
	seedSize = 32  // bytes
	longName = 256 // characters in the name of an agent
)

// Check implements config.Settings.
func (s *Settings) Check(b *config.BlockCheck) {
	if s.open = b.Has(""); !s.open {
		return
	}
	s.checkRelay(b)
	if utf8.RuneCountInString(s.AgentName) > longName || !b.Printable(s.AgentName) {
		b.Errorf("name", "is not a valid name: want one line of at most %d printable characters", longName)
	}
	b.OwnKey(s.KeyFile)
	seed, read := b.Secret("key_file", &s.KeyFile)
	if !read {
		return
	}
	if len(seed) != seedSize {
		var err error
		if seed, err = hex.DecodeString(string(bytes.TrimSpace(seed))); err != nil || len(seed) != seedSize {
			b.Errorf("key_file", "%s does not contain a seed: want 32 bytes, or 64 hexadecimal digits", s.KeyFile.Path)
			return
		}
	}
	s.seed = config.NewSecret(hex.EncodeToString(seed))
	b.Identity("key_file", s.seed)
}

// checkRelay checks Relay, and sets PublicRelay.
func (s *Settings) checkRelay(b *config.BlockCheck) {
	if s.Relay == LocalRelay {
		if own, ok := b.Config.Module(relayhost.Key).(*relayhost.Settings); ok && own.PublicURL != nil {
			s.PublicRelay = own.PublicURL.String()
		}
		if !b.HasBeside(relayhost.Key) {
			b.Errorf("relay", "is local, but this gateway runs no relay: add the block mrp_relay")
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
		b.Warnf("relay", "is not an https URL: anyone on the network path can read the PATs of agents that do not encrypt their messages")
	}
}

var note = template.Must(template.New("").Parse(
	`<p>Agents of the Machine Relay Protocol (MRP) send their requests to <code>{{.Key}}</code>` +
		`{{with .PublicRelay}} through the relay <code>{{.}}</code>{{else}} through the relay of this gateway{{end}}, and sign agreements with their own key.</p>`,
))

// Announce implements service.Announcer.
func (s *Settings) Announce(*service.Definition) service.Announcement {
	return service.Announcement{
		Members: []intents.Extra{{Name: "uim-mrp", Value: s.Key}, {Name: "uim-mrp-relay", Value: s.PublicRelay}}, Note: service.NoteOf(note, s),
	}
}
