package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/regex"
)

// An AEADoor is where agents of the AEA framework come in. An address without a host is that of this machine alone.
type AEADoor struct {
	KeyFile  File     `yaml:"key_file" doc:"File with the private key of the service among agents, as the framework keeps keys: 64 hexadecimal digits. Empty: made once in the data directory. Several gateways on one store need it."`
	TCP      string   `yaml:"tcp" doc:"Address and port of the framework's connection tcp, such as 127.0.0.1:8090. Others can read along, and nobody proves who it is: PATs are told there on this machine alone. Empty: none."`
	Delegate string   `yaml:"delegate" doc:"Address and port at which agents connect as to a node of their network (p2p_libp2p_client), by TLS. Empty: none."`
	Mailbox  string   `yaml:"mailbox" doc:"Address and port of a mailbox from which agents take their messages (p2p_libp2p_mailbox), by HTTPS. Empty: none."`
	Stub     string   `yaml:"stub" doc:"Directory of the files by which an agent of this machine comes (fetchai/stub). Empty: none."`
	HTTP     bool     `yaml:"http" default:"true" doc:"Whether requests of the protocol http in messages are answered, as over HTTP."`
	Relay    AEARelay `yaml:"relay" doc:"Whether agents that are connected here by delegate or mailbox may write to each other: the gateway hands on, unread, what one sends to the other. Not unless this block stands there."`
	// Clear is about connections that are not confidential.
	Clear             bool              `yaml:"pats_in_clear" default:"false" doc:"Whether PATs are told by tcp to other machines as well, where everybody on the way can read them. Only for closed networks."`
	DefaultConnection AEAConnection     `yaml:"default_connection" enum:"tcp,delegate,mailbox,stub" doc:"Connection of messages that answer none. Empty: the first that is open."`
	DefaultRouting    map[string]string `yaml:"default_routing" max:"100" doc:"Connections of messages that answer none, by the specification id of their protocol, such as fetchai/default:1.0.0."`

	Enabled bool   `yaml:"-"`
	Key     Secret `yaml:"-"` // of KeyFile, whose Data is not kept; empty: made in the data directory
}

// An AEARelay hands on what agents write to each other.
type AEARelay struct {
	PerAgent limit.Rate `yaml:"per_agent" default:"600/minute" doc:"Messages of one agent to others."`

	Enabled bool `yaml:"-"`
}

// An AEAConnection is a way by which agents of the AEA framework come.
type AEAConnection string

// The connections.
const (
	AEATCP      AEAConnection = "tcp"
	AEADelegate AEAConnection = "delegate"
	AEAMailbox  AEAConnection = "mailbox"
	AEAStub     AEAConnection = "stub"
)

// Open lists the connections that are configured, in the order in which one is the default.
func (d *AEADoor) Open() (open []AEAConnection) {
	for _, c := range []struct {
		name AEAConnection
		at   string
	}{{AEADelegate, d.Delegate}, {AEAMailbox, d.Mailbox}, {AEATCP, d.TCP}, {AEAStub, d.Stub}} {
		if c.at != "" {
			open = append(open, c.name)
		}
	}
	return open
}

var (
	privateKey = regex.Lazy(`^(0x)?[0-9a-fA-F]{64}$`)
	// protocolID is the form of a specification id.
	protocolID = regex.Lazy(`^[a-zA-Z_][a-zA-Z0-9_]{0,127}/[a-zA-Z_][a-zA-Z0-9_]{0,127}:[0-9]+\.[0-9]+\.[0-9]+$`)
)

// aeaListener checks one address to listen on, and that it is that of no other listener.
func (l *loader) aeaListener(at, address string, listeners map[string]string) {
	if address == "" {
		return
	}
	if _, ok := l.listenAddress(at, address); !ok {
		return
	}
	for _, other := range slices.Sorted(maps.Keys(listeners)) {
		if collide(address, listeners[other]) {
			l.Errorf(at, "%s is that of %s as well", address, other)
		}
	}
	listeners[at] = address
}

// checkAEA opens the door where its block stands, and reads the key. Listeners of all services must differ.
func (l *loader) checkAEA(at string, d *AEADoor, listeners map[string]string) {
	if d.Enabled = l.Has(at); !d.Enabled {
		return
	}
	l.aeaListener(at+".tcp", d.TCP, listeners)
	l.aeaListener(at+".delegate", d.Delegate, listeners)
	l.aeaListener(at+".mailbox", d.Mailbox, listeners)
	open := d.Open()
	if d.Relay.Enabled = l.Has(at + ".relay"); d.Relay.Enabled && len(open) > 0 && d.Delegate == "" && d.Mailbox == "" {
		l.Errorf(at+".relay", "neither delegate nor mailbox is open: only there is it known for certain who writes")
	}
	if d.DefaultConnection != "" && !slices.Contains(open, d.DefaultConnection) {
		l.Errorf(at+".default_connection", "%s is not open", d.DefaultConnection)
	}
	for _, id := range slices.Sorted(maps.Keys(d.DefaultRouting)) {
		entry := at + ".default_routing[" + strconv.Quote(id) + "]"
		if !protocolID().MatchString(id) {
			l.Errorf(entry, "is no specification id of a protocol, such as fetchai/default:1.0.0")
		}
		if !slices.Contains(open, AEAConnection(d.DefaultRouting[id])) {
			l.Errorf(entry, "want a connection that is open: tcp, delegate, mailbox or stub")
		}
	}
	if d.Stub != "" {
		d.Stub = l.files.path(d.Stub)
	}
	if d.KeyFile.Path == "" {
		return
	}
	read := l.readInto(at+".key_file", &d.KeyFile, maxSecretFile, true)
	key := strings.TrimSpace(string(d.KeyFile.Data))
	d.KeyFile.Data, d.KeyFile.SHA256 = nil, ""
	switch {
	case !read:
	case !privateKey().MatchString(key):
		l.Errorf(at+".key_file", "%s holds no private key: want 64 hexadecimal digits", d.KeyFile.Path)
	default:
		d.Key = newSecret(strings.TrimPrefix(key, "0x"))
	}
}
