package relayhost

import (
	"net/url"

	"github.com/uimgate/uimgate/config"
)

// Key is the key of the block, at the level of services.
const Key = "mrp_relay"

// Settings are the block mrp_relay: a relay beside the gateway, on a separate listener. It serves all agents, including those that call
// no intents. It is open if the file has the block, even an empty one.
type Settings struct {
	Listen    string   `yaml:"listen" default:"127.0.0.1:8490" doc:"Address and port, with the certificate of server.tls where there is one. Port 0 takes a free one."`
	PublicURL *url.URL `yaml:"public_url" doc:"The URL agents reach the relay under, such as https://relay.shop.example, which agents.json names for services with doors.mrp. Default: none is named."`
	// BlobsDir is a path on this machine.
	BlobsDir        string `yaml:"blobs_dir" doc:"Directory of the bytes of blobs, relative to this file. Empty: mrp-blobs in the data directory. Several gateways on one store need one that they share."`
	Blobs           int64  `yaml:"blobs" default:"10GiB" min:"1MiB" max:"1PiB" doc:"Bytes of all blobs together; one agent may have 1 GiB in 100 blobs."`
	Agents          int    `yaml:"agents" default:"1000000" min:"1" max:"100000000" doc:"Agents that may be known."`
	Messages        int    `yaml:"messages" default:"20000000" min:"1000" max:"1000000000" doc:"Messages that may be kept, delivered or not."`
	Bytes           int64  `yaml:"message_bytes" default:"20GiB" min:"1MiB" max:"1PiB" doc:"Bytes of all messages together."`
	Waiting         int    `yaml:"waiting" default:"10000" min:"1" max:"1000000" doc:"Messages that may wait for one agent."`
	Sends           int    `yaml:"sends_per_minute" default:"30" min:"1" max:"1000000" doc:"Messages that one agent may send in a minute."`
	Polls           int    `yaml:"polls_per_minute" default:"120" min:"1" max:"1000000" doc:"Polls of one agent in a minute."`
	Others          int    `yaml:"requests_per_minute" default:"300" min:"1" max:"1000000" doc:"All other requests of one agent in a minute."`
	Newcomers       int    `yaml:"new_agents_per_hour" default:"60" min:"1" max:"1000000" doc:"Agents that one client address (IPv6: per /64) may make in an hour."`
	PrivateWebhooks bool   `yaml:"private_webhooks" default:"false" doc:"Whether messages are posted to webhooks at private addresses, and those of this machine, and by http. Only for closed networks."`

	open bool
}

// Open implements config.Settings.
func (s *Settings) Open() bool { return s.open }

// Check implements config.Settings.
func (s *Settings) Check(b *config.BlockCheck) {
	if s.open = b.Has(""); !s.open {
		return
	}
	b.Listener("listen", s.Listen)
	if s.BlobsDir != "" {
		s.BlobsDir = b.File(s.BlobsDir)
	} else if b.Shared() {
		b.Warnf("blobs_dir", "several gateways on one store need a directory that they share")
	}
}

// Defaults returns settings with the default of every key.
func Defaults() *Settings {
	s := &Settings{}
	config.SetDefaults(s)
	return s
}
