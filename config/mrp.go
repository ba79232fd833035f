package config

import (
	"net/url"

	"github.com/uimgate/uimgate/internal/yamlconf"
)

// An MRPRelay is a relay of the Machine Relay Protocol beside the gateway, on a listener of its own. It serves everybody, whether they
// call intents or not.
type MRPRelay struct {
	Listen    string   `yaml:"listen" default:"127.0.0.1:8490" doc:"Address and port, with the certificate of server.tls where there is one. Port 0 takes a free one."`
	PublicURL *url.URL `yaml:"public_url" doc:"The URL agents reach the relay under, such as https://relay.shop.example, which agents.json names for services with doors.mrp. Default: none is named."`
	// BlobsDir is a path of the machine.
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

	Enabled bool `yaml:"-"`
}

// checkMRPRelay opens the relay where its block stands.
func (l *loader) checkMRPRelay(c *Config) {
	const at = "mrp_relay"
	r := &c.MRPRelay
	if r.Enabled = l.Has(at); !r.Enabled {
		return
	}
	if _, ok := l.listenAddress(at+".listen", r.Listen); ok {
		for name, other := range map[string]string{"server.listen": c.Server.Listen, "admin.listen": c.Admin.Listen} {
			if collide(r.Listen, other) {
				l.Errorf(at+".listen", "%s is that of %s as well", r.Listen, name)
			}
		}
	}
	if r.BlobsDir != "" {
		r.BlobsDir = l.files.path(r.BlobsDir)
	} else if c.Store.Engine == Postgres {
		l.Warnf(at+".blobs_dir", "several gateways on one store need a directory that they share")
	}
}

// DefaultMRPRelay is a relay for which nothing is set.
func DefaultMRPRelay() MRPRelay {
	var c struct {
		MRPRelay MRPRelay `yaml:"mrp_relay"`
	}
	none := func(string) (string, bool) { return "", false }
	yamlconf.Decode(nil, &c, yamlconf.Options{Scalars: scalars, Env: none}) // nothing is required
	return c.MRPRelay
}
