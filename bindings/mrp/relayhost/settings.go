package relayhost

import (
	"net/url"

	"github.com/uimgate/uimgate/config"
)

// Key is the key of the block, at the top level of the configuration.
const Key = "mrp_relay"

// Settings are the block mrp_relay: a relay next to the gateway, on a separate listener. It serves all agents, including those that call
// no intents. It is open if the file has the block, even if the block is empty.
type Settings struct {
	Listen    string   `yaml:"listen" default:"127.0.0.1:8490" doc:"Address and port to listen on, with the certificate of server.tls if there is one. Port 0 selects a free port."`
	PublicURL *url.URL `yaml:"public_url" doc:"URL at which agents reach the relay, such as https://relay.shop.example. agents.json lists it for services with doors.mrp. Default: not listed."`
	// BlobsDir is a path on this machine. Check resolves it relative to the configuration file.
	BlobsDir        string `yaml:"blobs_dir" doc:"Directory for the content of blobs, relative to this file. Empty: mrp-blobs in the data directory. Gateways that share a store must share this directory."`
	Blobs           int64  `yaml:"blobs" default:"10GiB" min:"1MiB" max:"1PiB" doc:"Maximum total size of all blobs; one agent may store 100 blobs with a total of 1 GiB."`
	Agents          int    `yaml:"agents" default:"1000000" min:"1" max:"100000000" doc:"Maximum number of agents."`
	Messages        int    `yaml:"messages" default:"20000000" min:"1000" max:"1000000000" doc:"Maximum number of stored messages, delivered or not."`
	Bytes           int64  `yaml:"message_bytes" default:"20GiB" min:"1MiB" max:"1PiB" doc:"Maximum total size of all stored messages."`
	Waiting         int    `yaml:"waiting" default:"10000" min:"1" max:"1000000" doc:"Maximum number of messages that wait for one agent."`
	Sends           int    `yaml:"sends_per_minute" default:"30" min:"1" max:"1000000" doc:"Messages that one agent may send per minute."`
	Polls           int    `yaml:"polls_per_minute" default:"120" min:"1" max:"1000000" doc:"Polls that one agent may make per minute."`
	Others          int    `yaml:"requests_per_minute" default:"300" min:"1" max:"1000000" doc:"Other requests that one agent may make per minute."`
	Newcomers       int    `yaml:"new_agents_per_hour" default:"60" min:"1" max:"1000000" doc:"New agents that one client address (IPv6: one /64) may create per hour."`
	PrivateWebhooks bool   `yaml:"private_webhooks" default:"false" doc:"Whether webhooks may use http, and addresses of private networks and of this machine. Only for closed networks."`

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
		b.Warnf("blobs_dir", "is not set: gateways that share a store must share a directory for blobs")
	}
}

// Defaults returns settings with the default of every key.
func Defaults() *Settings {
	s := &Settings{}
	config.SetDefaults(s)
	return s
}
