package bindings_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/bindings"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	aeaidentity "github.com/uimgate/uimgate/internal/wire/aea/identity"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	uagentsidentity "github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

// An invariant holds at every door.
type invariant string

const (
	reservedID  invariant = "agent id reserved"
	strangerBit invariant = "stranger flag on every place and stream"
	knownHost   invariant = "known host"
	scopedReads invariant = "scope on every read"
	released    invariant = "resources are released"
	notDropped  invariant = "an answer that cannot be delivered is not dropped silently"
)

var invariants = []invariant{reservedID, strangerBit, knownHost, scopedReads, released, notDropped}

// A cell shows that an invariant holds at a door. It has a test, or the names of tests elsewhere as package and function, or the reason
// why the invariant does not apply.
type cell struct {
	test  func(t *testing.T)
	named []string
	na    string
}

func here(test func(t *testing.T)) cell { return cell{test: test} }

func elsewhere(named ...string) cell { return cell{named: named} }

func notApplicable(reason string) cell { return cell{na: reason} }

// rows has the doors by the type that their New returns. "*gateway.Server" is UIM over HTTP.
var rows = map[string]map[invariant]cell{
	"*gateway.Server": {
		reservedID: here(func(t *testing.T) {
			t.Helper()
			reserves(t, func(*testing.T) string { return "mcp.0123456789abcdef" })
		}),
		strangerBit: elsewhere("gateway/execute.TestUnapprovedLeavePlacesToApprovedAgents", "bindings.TestOneApprovedAgentIsServed"),
		knownHost:   elsewhere("gateway.TestAForeignHostReachesNothingOnALoopbackListener"),
		scopedReads: here(func(t *testing.T) { t.Helper(); narrow(t, "HTTP", "HTTP, by path") }),
		released:    here(func(t *testing.T) { t.Helper(); releases(t, "HTTP", "HTTP, by path") }),
		notDropped:  notApplicable("The response is the answer. A client that lost it repeats the call under its idempotency key."),
	},
	"*mcp.Door": {
		reservedID:  notApplicable("No agent agrees at the endpoint. It accepts PATs that the other doors issue."),
		strangerBit: elsewhere("gateway/execute.TestUnapprovedLeavePlacesToApprovedAgents"),
		knownHost:   elsewhere("gateway.TestAForeignHostReachesNothingOnALoopbackListener"),
		scopedReads: here(func(t *testing.T) { t.Helper(); narrow(t, "MCP", "MCP, of clients with a handshake") }),
		released:    here(func(t *testing.T) { t.Helper(); releases(t, "MCP", "MCP, of clients with a handshake") }),
		notDropped:  notApplicable("The response is the answer. A client that lost it repeats the call under its idempotency key."),
	},
	"*a2a.Door": {
		reservedID:  notApplicable("No agent agrees at the endpoint. It accepts PATs that the other doors issue."),
		strangerBit: elsewhere("bindings.TestOneApprovedAgentIsServed"),
		knownHost:   elsewhere("gateway.TestAForeignHostReachesNothingOnALoopbackListener", "bindings.TestCardFollowsCatalogue"),
		scopedReads: cell{
			test:  func(t *testing.T) { t.Helper(); narrow(t, "A2A, JSON-RPC", "A2A, HTTP+JSON", "A2A, a stream") },
			named: []string{"bindings.TestTasksOutsideScope", "gateway/execute.TestRecordsWithinTheScope"},
		},
		released:   here(func(t *testing.T) { t.Helper(); releases(t, "A2A, JSON-RPC", "A2A, HTTP+JSON", "A2A, a stream") }),
		notDropped: elsewhere("bindings.TestDisconnectDoesNotCancel"),
	},
	"*oauth.Door": {
		reservedID:  notApplicable("The gateway makes the id of each consent."),
		strangerBit: elsewhere("bindings.TestUnapprovedLeavePlacesForDocuments"),
		knownHost:   elsewhere("gateway.TestAForeignHostReachesNothingOnALoopbackListener", "bindings.TestForeignHost"),
		scopedReads: notApplicable("The door does not read calls."),
		released:    elsewhere("bindings.TestUnapprovedLeavePlacesForDocuments"),
		notDropped:  notApplicable("The response is the answer."),
	},
	"*uagents.Door": {
		reservedID:  here(func(t *testing.T) { t.Helper(); reserves(t, anAddressOfUAgents) }),
		strangerBit: elsewhere("bindings.TestFloodsOfEnvelopes"),
		knownHost:   elsewhere("gateway.TestAForeignHostReachesNothingOnALoopbackListener"),
		scopedReads: notApplicable("The door does not read past calls."),
		released:    elsewhere("bindings.TestFloodsOfEnvelopes"),
		notDropped:  elsewhere("bindings.TestWhatIsNotPostponed"),
	},
	"*aea.Door": {
		reservedID:  here(func(t *testing.T) { t.Helper(); reserves(t, anAddressOfAEA) }),
		strangerBit: notApplicable("The inbox has no places. It bounds the bytes of each sender and of all senders, senders take turns, and a sender waits."),
		knownHost: notApplicable("The door has no path on the public listener. The mailbox is https with a certificate of the node, " +
			"which browsers reject for every other name."),
		scopedReads: notApplicable("The door does not read past calls."),
		released:    elsewhere("bindings.TestLimitAcrossDoors"),
		notDropped:  notApplicable("The answer uses the connection of the request. A sender that lost it repeats the message."),
	},
	"*mrp.Door": {
		reservedID:  here(func(t *testing.T) { t.Helper(); reserves(t, aKeyOfMRP) }),
		strangerBit: elsewhere("bindings.TestStrangersLeavePlacesToApprovedAgents", "bindings/mrp/relay.TestAWebhookIsProbedFirst"),
		knownHost:   notApplicable("The door has no path on the public listener. A relay accepts only signed requests."),
		scopedReads: notApplicable("The door does not read past calls."),
		released:    elsewhere("bindings.TestLimitAcrossDoors"),
		notDropped:  notApplicable("The relay keeps the answer until the agent takes it."),
	},
	"*announce.Door": everywhere(notApplicable("The door serves only public documents."), map[invariant]cell{
		knownHost: elsewhere("gateway.TestAForeignHostReachesNothingOnALoopbackListener"),
	}),
}

// everywhere returns a row that has c in each cell except those in but.
func everywhere(c cell, but map[invariant]cell) map[invariant]cell {
	row := map[invariant]cell{}
	for _, i := range invariants {
		row[i] = c
	}
	maps.Copy(row, but)
	return row
}

// TestInvariantsAtEveryDoor runs the table. It fails if a door has an incomplete row, or if a cell names a test that does not exist.
func TestInvariantsAtEveryDoor(t *testing.T) {
	t.Parallel()
	doors := []string{"*gateway.Server"}
	for _, d := range bindings.Modules() {
		doors = append(doors, fmt.Sprintf("%T", d))
	}
	for _, door := range doors {
		for _, i := range invariants {
			t.Run(door+"/"+string(i), func(t *testing.T) {
				t.Parallel()
				c, ok := rows[door][i]
				switch {
				case !ok || c.test == nil && len(c.named) == 0 && c.na == "":
					t.Error("the table has no cell for the invariant")
				case c.test != nil:
					c.test(t)
				}
				for _, name := range c.named {
					if !testExists(t, name) {
						t.Errorf("there is no test %s", name)
					}
				}
			})
		}
	}
	for door := range rows {
		if !slices.Contains(doors, door) {
			t.Errorf("the row %s names no door", door)
		}
	}
}

// testExists reports whether a test exists. The name includes the package, such as gateway/execute.TestX.
func testExists(t *testing.T, name string) bool {
	t.Helper()
	at := strings.LastIndex(name, ".")
	if at < 0 {
		return false
	}
	dir := "../" + name[:at]
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(dir + "/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name[at+1:]+"(t *testing.T) {") {
			return true
		}
	}
	return false
}

// reserves checks that an agent cannot agree under an id that is a protocol's address of another key.
func reserves(t *testing.T, addressOf func(t *testing.T) string) {
	t.Helper()
	g := gatetest.New(t, "")
	if a, status := g.Agree(addressOf(t)); status < 400 || a.Token != "" {
		t.Errorf("an agent with another key agreed as %s: %d", a.ID, status)
	}
}

func anAddressOfUAgents(t *testing.T) string {
	t.Helper()
	key, err := uagentsidentity.FromSeed(rand.Text(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return string(key.Address())
}

func anAddressOfAEA(t *testing.T) string {
	t.Helper()
	return aeatest.Numbered(t, 7).Public(aeaidentity.Fetchai).Address()
}

func aKeyOfMRP(t *testing.T) string {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return wire.KeyOf(private).String()
}

// narrow calls an intent outside the scope of a PAT in each way, and checks that no call reaches the service.
func narrow(t *testing.T, names ...string) {
	t.Helper()
	g := gatetest.New(t, "")
	g.Upstream = func(http.ResponseWriter, *http.Request) { t.Error("the service was called") }
	a := g.AgreedTo("agent-1", gatetest.Ordering)
	for number, name := range names {
		w := ways[name]
		answer := string(w.send(g, http.DefaultClient, a.Token, int64(number)))
		if !strings.Contains(answer, "SCOPE_EXCEEDED") && !strings.Contains(answer, "tool") {
			t.Errorf("%s: %s", name, answer)
		}
	}
}

// releases makes more failing calls than there are places, in each way. If each call releases its place, one more call succeeds.
func releases(t *testing.T, names ...string) {
	t.Helper()
	g := gatetest.New(t, strings.Replace(oneService, "UPSTREAM}", "UPSTREAM, concurrency: 2, breaker: {failures: 1000}}", 1))
	a := g.Agreed("agent-1")
	number := int64(0)
	for _, name := range names {
		w := ways[name]
		g.BreakOff()
		for range 5 {
			number++
			w.send(g, http.DefaultClient, a.Token, number)
		}
		if calls, waiting := g.Directory.Current().Service("default").Upstream.UnderWay(); calls != 0 || waiting != 0 {
			t.Errorf("%s: %d calls are in progress, %d wait", name, calls, waiting)
		}
		g.Upstream = func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte(`{"lamps":1}`)) }
		number++
		if answer := string(w.send(g, http.DefaultClient, a.Token, number)); !strings.Contains(answer, w.done) {
			t.Errorf("%s: %s, want a text that contains %q", name, answer, w.done)
		}
	}
}
