package bindings_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/bindings/uagents/almanac"
	bindtest "github.com/uimgate/uimgate/internal/test/bindings"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// TestPythonAgent makes an agent that shares no code with the gateway agree and execute. The agent computes the digests of its messages,
// signs with random nonces, and verifies the replies.
func TestPythonAgent(t *testing.T) {
	t.Parallel()
	opened(t).python()
}

// TestAsynchronousPythonAgent makes the agent find the service in the service's Almanac, register there, and receive the reply at its own
// endpoint.
func TestAsynchronousPythonAgent(t *testing.T) {
	t.Parallel()
	p := with(t, "registry: true, private_endpoints: true")
	p.door().Round(t.Context()) // Run does this when it starts, which may be later
	p.python(p.URL+almanac.Path, string(protocol.UIM().Digest))
}

// python runs the Python agent with further arguments, and checks that it gets a reply.
func (p *uagentsPeer) python(more ...string) {
	t := p.T
	t.Helper()
	python := bindtest.Python(t)
	var out, problems bytes.Buffer
	c := exec.CommandContext(t.Context(), python, append([]string{
		"testdata/uagents/agent.py", p.URL + "/submit", string(p.shop), strconv.FormatInt(p.Now().Unix(), 10), gatetest.Searching, `{"query": "lamp"}`,
	}, more...)...)
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, problems.Bytes())
	}
	var reply struct {
		Agent  string
		Result struct {
			Output struct{ OK bool }
			Reason string
		}
	}
	if err := json.Unmarshal(out.Bytes(), &reply); err != nil || !reply.Result.Output.OK || !strings.HasPrefix(reply.Agent, "agent1") {
		t.Errorf("%v: %s", err, out.Bytes())
	}
}
