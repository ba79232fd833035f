package config

import (
	"bytes"
	"encoding/hex"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/yamlconf"
)

// An MRPDoor makes the service an agent on a relay of the Machine Relay Protocol.
type MRPDoor struct {
	Relay      string        `yaml:"relay" default:"local" doc:"Where agents reach the service: local for the relay of this gateway, which mrp_relay opens, or the URL of another, such as https://relay.mrphub.io."`
	KeyFile    File          `yaml:"key_file" doc:"File with the seed of the service's key, as agents of the protocol keep it: its 32 bytes, or 64 hexadecimal digits. Empty: made once in the data directory. Several gateways on one store need it."`
	Name       string        `yaml:"name" doc:"Name of the agent, of at most 256 characters. Default: that of the service."`
	Visibility MRPVisibility `yaml:"visibility" default:"public" enum:"public,private" doc:"Whether agents find the service at the relay: public, or private for those who know its key."`

	Enabled bool   `yaml:"-"`
	Seed    Secret `yaml:"-"` // of KeyFile, whose Data is not kept, as hexadecimal digits; empty: made in the data directory
}

// An MRPVisibility is who finds an agent.
type MRPVisibility string

// The visibilities.
const (
	MRPPublic  MRPVisibility = "public"
	MRPPrivate MRPVisibility = "private"
)

// LocalRelay is the value of MRPDoor.Relay for the relay of this gateway.
const LocalRelay = "local"

// Bounds of the door.
const (
	mrpSeed  = 32  // bytes
	longName = 256 // characters of the name of an agent
)

// checkMRP opens the door where its block stands, and reads the key.
func (l *loader) checkMRP(at string, d *MRPDoor) {
	if d.Enabled = l.Has(at); !d.Enabled {
		return
	}
	l.mrpRelay(at+".relay", d)
	if utf8.RuneCountInString(d.Name) > longName || !printable(d.Name) || strings.Contains(d.Name, "\t") {
		l.Errorf(at+".name", "is no name: want at most %d characters in one line", longName)
	}
	if d.KeyFile.Path == "" {
		return
	}
	read := l.readInto(at+".key_file", &d.KeyFile, maxSecretFile, true)
	seed := d.KeyFile.Data
	d.KeyFile.Data, d.KeyFile.SHA256 = nil, ""
	switch text := bytes.TrimSpace(seed); {
	case !read:
	case len(seed) == mrpSeed:
		d.Seed = newSecret(hex.EncodeToString(seed))
	case len(text) == hex.EncodedLen(mrpSeed) && privateKey().Match(text):
		d.Seed = newSecret(strings.ToLower(string(text)))
	default:
		l.Errorf(at+".key_file", "%s holds no key: want the 32 bytes of a seed, or 64 hexadecimal digits", d.KeyFile.Path)
	}
}

// mrpRelay checks where the relay is.
func (l *loader) mrpRelay(at string, d *MRPDoor) {
	if d.Relay == LocalRelay {
		if !l.Has("mrp_relay") {
			l.Errorf(at, "is local, but this gateway runs no relay: add a block mrp_relay")
		}
		return
	}
	u, err := parseURL(d.Relay)
	if err != nil {
		l.Errorf(at, "%s is no relay: want local, or a URL such as https://relay.mrphub.io", yamlconf.Quote(d.Relay))
		return
	}
	d.Relay = strings.TrimRight((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), "/")
	if u.Scheme != "https" && !loopback(u.Hostname()) {
		l.Warnf(at, "is no https URL: everybody on the way reads the PATs of agents that do not encrypt their messages")
	}
}
