package connections_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/bindings/aea/connections/delegate"
	"github.com/uimgate/uimgate/bindings/aea/connections/tcp"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	bindtest "github.com/uimgate/uimgate/internal/test/bindings"
)

// TestPythonAgent connects an agent that shares no code with the gateway over both connections. The agent has its own encoder and, over
// TLS, verifies the node's proof and registers.
func TestPythonAgent(t *testing.T) {
	t.Parallel()
	python := bindtest.Python(t)
	plain, err := tcp.Listen(t.Context(), ":0", tcp.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	secure, err := delegate.Listen(t.Context(), ":0", aeatest.Node(t), delegate.Bounds{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	r := aeatest.Serve(t, runtime.Limits{}, plain, secure)
	type answer struct {
		Address, Protocol, Text string
		Said                    []bool
		Code                    int
	}
	for _, args := range [][]string{{"tcp", plain.Address(), aeatest.Self}, {"delegate", secure.Address(), aeatest.Self, aeatest.NodeKey}} {
		var out, problems bytes.Buffer
		c := exec.CommandContext(t.Context(), python, append([]string{"-B", "../testdata/echo.py"}, args...)...)
		c.Stdout, c.Stderr = &out, &problems
		if err := c.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", args[0], err, problems.Bytes())
		}
		var reply answer
		if err := json.Unmarshal(out.Bytes(), &reply); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(reply.Address, "fetch1") {
			t.Errorf("%s: %s, want a text that starts with %q", args[0], reply.Address, "fetch1")
		}
		reply.Address = ""
		want := answer{Protocol: "fetchai/default:1.0.0", Said: []bool{true, true}, Text: "Unsupported protocol."}
		if diff := cmp.Diff(want, reply); diff != "" {
			t.Errorf("%s: %s", args[0], diff)
		}
	}
	for _, s := range r.Status().Connections {
		if s.Received != 5 || s.Refused != 0 {
			t.Errorf("got %+v; want Received 5 and Refused 0", s)
		}
	}
}
