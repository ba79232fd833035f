package mrp_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/bindings/mrp"
	configtest "github.com/uimgate/uimgate/internal/test/config"
)

func TestBlockOpensDoor(t *testing.T) {
	t.Parallel()
	dir := configtest.New(t)
	dir.Write(t, "raw.key", "\nA234567890123456789012345678901")
	dir.Write(t, "digits.key", strings.Repeat("A5", 32)+"\n")
	const local = "mrp_relay: {}\n"
	for doors, want := range map[string]*mrp.Settings{
		"":                             nil,
		"  doors: {}\n":                nil,
		"  doors: {mrp: {}}\n" + local: {Relay: "local", Visibility: mrp.Public},
		"  doors: {mrp: {relay: 'https://r.example/m/', name: Lamps, visibility: private}}\n": {
			Relay: "https://r.example/m", AgentName: "Lamps", Visibility: mrp.Private,
		},
		"  doors: {mrp: {relay: 'http://127.0.0.1:8490'}}\n": {Relay: "http://127.0.0.1:8490", Visibility: mrp.Public},
	} {
		c, problems := dir.Load(t, (&mrp.Door{}).Blocks(), configtest.Service+doors)
		if c == nil || len(problems) > 0 {
			t.Fatal(doors, problems)
		}
		m, open := c.Services[0].OpenDoors()[mrp.Name].(*mrp.Settings)
		if open != (want != nil) ||
			open && (m.Relay != want.Relay || m.AgentName != want.AgentName || m.Visibility != want.Visibility || m.Seed() != "") {
			t.Errorf("%s: %+v", doors, m)
		}
	}
	for file, seed := range map[string]string{
		"raw.key": "0a41323334353637383930313233343536373839303132333435363738393031", "digits.key": strings.Repeat("a5", 32),
	} {
		c, problems := dir.Load(t, (&mrp.Door{}).Blocks(), configtest.Service+"  doors: {mrp: {relay: local, key_file: "+file+"}}\n"+local)
		if c == nil {
			t.Fatal(file, problems)
		}
		if m, ok := c.Services[0].OpenDoors()[mrp.Name].(*mrp.Settings); !ok || m.Seed() != seed || m.KeyFile.Data != nil {
			t.Errorf("%s: another seed", file)
		}
	}
}

func TestInvalidSettings(t *testing.T) {
	t.Parallel()
	dir := configtest.New(t)
	for doors, want := range map[string][]string{
		"  doors: {mrp: {relay: local, key_file: agents.json, name: " + strings.Repeat("n", 257) + "}}\n": {
			"uimgate.yaml:6: services[0].doors.mrp.relay: is local, but this gateway runs no relay: add the block mrp_relay",
			"uimgate.yaml:6: services[0].doors.mrp.key_file: agents.json does not contain a seed: want 32 bytes, or 64 hexadecimal digits",
			"uimgate.yaml:6: services[0].doors.mrp.name: is not a valid name: want one line of at most 256 printable characters",
		},
		"  doors: {mrp: {relay: relay.mrphub.io}}\n": {
			`uimgate.yaml:6: services[0].doors.mrp.relay: "relay.mrphub.io" is not a relay: want local, or a URL such as https://relay.mrphub.io`,
		},
	} {
		c, problems := dir.Load(t, (&mrp.Door{}).Blocks(), configtest.Service+doors)
		if diff := cmp.Diff(want, problems); diff != "" || c != nil {
			t.Errorf("%s: %s", doors, diff)
		}
	}
	for doors, want := range map[string][]string{
		"  doors: {mrp: {relay: 'http://relay.example'}}\n": {
			"uimgate.yaml:6: warning: services[0].doors.mrp.relay: is not an https URL: anyone on the network path can read the PATs of agents that do not encrypt their messages",
		},
		"  doors: {mrp: {relay: 'https://relay.example'}}\nstore: postgres://u:p@127.0.0.1/x\n": {
			"uimgate.yaml:6: warning: services[0].doors.mrp: its key_file is empty: each gateway on this store would be a different agent; " +
				"give all of them the same file",
		},
	} {
		c, problems := dir.Load(t, (&mrp.Door{}).Blocks(), configtest.Service+doors)
		if diff := cmp.Diff(want, problems); diff != "" || c == nil {
			t.Errorf("%s: %s", doors, diff)
		}
	}
}
