package uagents_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/bindings/bindtest"
	"github.com/uimgate/uimgate/gateway/gatetest"
)

// TestAnAgentInPython has an agent that shares no code with the gateway agree and execute: it makes the digests of its messages,
// signs with random numbers, and verifies what is answered.
func TestAnAgentInPython(t *testing.T) {
	t.Parallel()
	python := bindtest.Python(t)
	p := opened(t)
	var out, problems bytes.Buffer
	c := exec.CommandContext(t.Context(), python, "testdata/agent.py", p.URL+"/submit", string(p.shop), strconv.FormatInt(p.Now().Unix(), 10),
		gatetest.Searching, `{"query": "lamp"}`)
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, problems.Bytes())
	}
	var told struct {
		Agent  string
		Result struct {
			Output struct{ OK bool }
			Reason string
		}
	}
	if err := json.Unmarshal(out.Bytes(), &told); err != nil || !told.Result.Output.OK || !strings.HasPrefix(told.Agent, "agent1") {
		t.Errorf("%v: %s", err, out.Bytes())
	}
}
