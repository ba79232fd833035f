package aea_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/bindings/aea"
	configtest "github.com/uimgate/uimgate/internal/test/config"
)

func TestDoorIsOpenIfBlockPresent(t *testing.T) {
	t.Parallel()
	dir := configtest.New(t)
	key := strings.Repeat("5", 64)
	dir.Write(t, "key.txt", "0x"+key+"\n")
	for doors, want := range map[string]struct {
		open        bool
		key         string
		connections []aea.ConnectionName
		relay       string
	}{
		"":                     {},
		"  doors: {}\n":        {},
		"  doors: {aea: {}}\n": {open: true},
		"  doors: {aea: {key_file: key.txt, tcp: 127.0.0.1:0, delegate: ':9000', stub: files}}\n": {
			true, key, []aea.ConnectionName{"delegate", "tcp", "stub"}, "",
		},
		"  doors: {aea: {connections: {local: true}, default_connection: local}}\n": {true, "", []aea.ConnectionName{"local"}, ""},
		"  doors: {aea: {mailbox: ':0', relay: {}}}\n":                              {true, "", []aea.ConnectionName{"mailbox"}, "600/minute"},
		"  doors: {aea: {mailbox: ':0', relay: {per_agent: 5/second}}}\n":           {true, "", []aea.ConnectionName{"mailbox"}, "5/second"},
	} {
		c, problems := dir.Load(t, (&aea.Door{}).Blocks(), configtest.Service+doors)
		if c == nil {
			t.Fatal(doors, problems)
		}
		a, open := c.Services[0].OpenDoors()[aea.Name].(*aea.Settings)
		if open != want.open {
			t.Errorf("%s: open: %t, want %v", doors, open, want.open)
		}
		if open && (a.Private() != want.key || !a.HTTP || a.Clear || a.KeyFile.Data != nil ||
			!slices.Equal(a.OpenConnections(), want.connections) ||
			a.Relays() != (want.relay != "") || a.Relays() && a.Relay.PerAgent.String() != want.relay ||
			a.Stub != "" && a.Stub != filepath.Join(string(dir), "files")) {
			t.Errorf("%s: %+v", doors, a)
		}
	}
}

func TestInvalidSettings(t *testing.T) {
	t.Parallel()
	dir := configtest.New(t)
	for doors, want := range map[string][]string{
		"  doors: {aea: {tcp: '9090', delegate: 127.0.0.1:8080, mailbox: ':9090', key_file: agents.json, default_connection: tcp,\n" +
			"    default_routing: {'fetchai/http:1.0.0': stub, x: mailbox}}}\n": {
			"uimgate.yaml:6: services[0].doors.aea.tcp: is not an address to listen on: want host:port such as 127.0.0.1:8080, or :8080 for every address",
			"uimgate.yaml:6: services[0].doors.aea.delegate: 127.0.0.1:8080 is also the address of server.listen: choose another",
			"uimgate.yaml:6: services[0].doors.aea.key_file: agents.json does not contain a private key: want 64 hexadecimal digits",
			`uimgate.yaml:7: services[0].doors.aea.default_routing["fetchai/http:1.0.0"]: want an open connection: tcp, delegate, mailbox, stub or local`,
			`uimgate.yaml:7: services[0].doors.aea.default_routing["x"]: is not a specification id of a protocol, such as fetchai/default:1.0.0`,
		},
		"  doors: {aea: {skills: {disabled: [echo, search, search]}, connections: {http_server: x, http_server_skill: shop/page}, default_connection: local}}\n": {
			"uimgate.yaml:6: services[0].doors.aea.skills.disabled[0]: want each skill of the agent at most once: intents, search, echo, or the name of one of your own",
			"uimgate.yaml:6: services[0].doors.aea.skills.disabled[2]: want each skill of the agent at most once: intents, search, echo, or the name of one of your own",
			"uimgate.yaml:6: services[0].doors.aea.connections.http_server: is not an address to listen on: want host:port such as 127.0.0.1:8080, or :8080 for every address",
			"uimgate.yaml:6: services[0].doors.aea.connections.http_server_skill: is not the complete id of a skill, such as uimgate/intents:1.0.0",
			"uimgate.yaml:6: services[0].doors.aea.default_connection: local is not open",
		},
		"  doors: {aea: {tcp: 127.0.0.1:0, stub: files, relay: {}}}\n": {
			"uimgate.yaml:6: services[0].doors.aea.relay: needs delegate or mailbox: only these connections authenticate the sender of a message",
		},
	} {
		if c, problems := dir.Load(t, (&aea.Door{}).Blocks(), configtest.Service+doors); c != nil || cmp.Diff(want, problems) != "" {
			t.Errorf("%s: %s", doors, cmp.Diff(want, problems))
		}
	}
}

func TestSeveralGatewaysNeedOneKey(t *testing.T) {
	t.Parallel()
	dir := configtest.New(t)
	for store, want := range map[string][]string{
		"": nil,
		"store: postgres://u:p@127.0.0.1/x\n": {
			"uimgate.yaml:6: warning: services[0].doors.aea: its key_file is empty: each gateway on this store would be a different agent; " +
				"give all of them the same file",
		},
	} {
		c, problems := dir.Load(t, (&aea.Door{}).Blocks(), configtest.Service+"  doors: {aea: {}}\n"+store)
		if diff := cmp.Diff(want, problems); diff != "" || c == nil {
			t.Error(c == nil, diff)
		}
	}
}
