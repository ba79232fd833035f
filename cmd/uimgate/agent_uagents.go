package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/agent"
)

// checkVia checks the flags that say which way a command takes.
func (s *agentSettings) checkVia(c *cobra.Command) error {
	kind, address, _ := strings.Cut(s.via, ":")
	switch agent.Via(kind) {
	case agent.ViaUIM, agent.ViaMCP, agent.ViaA2A:
		switch {
		case address != "" || kind == "" && s.via != "":
			return usageError{fmt.Errorf("--via is mcp, a2a, uagents or uagents:agent1…, not %.60q", s.via)}
		case kind != "" && c.Name() != "execute":
			return usageError{fmt.Errorf("--via %s is a way of execute alone: agreements are UIM's own there", kind)}
		case s.endpoint != "" || s.almanac != "":
			return usageError{errors.New("--uagents-endpoint and --almanac go with --via uagents")}
		}
		return nil
	case agent.ViaUAgents:
		if s.id != "" {
			return usageError{errors.New("with --via uagents the agent's id is its address: leave out --agent-id")}
		}
		return nil
	}
	return usageError{fmt.Errorf("--via is mcp, a2a, uagents or uagents:agent1…, not %.60q", s.via)}
}

// way is the way that a call takes.
func (s *agentSettings) way() agent.Via {
	kind, _, _ := strings.Cut(s.via, ":")
	return agent.Via(kind)
}

// isUAgent reports whether the agent is one of the uAgents protocol.
func (s *agentSettings) isUAgent() bool { return s.way() == agent.ViaUAgents }

// keyName is the usual name of the file with the agent's secret.
func (s *agentSettings) keyName() string {
	if s.isUAgent() {
		return "uagents.seed"
	}
	return "agent.pem"
}

// uagentOptions are those of a client that is an agent of the uAgents protocol, whose seed is in a file.
func (s *agentSettings) uagentOptions(o agent.Options, path string) (agent.Options, error) {
	key, err := agent.LoadSeed(path)
	if errors.Is(err, os.ErrNotExist) {
		return agent.Options{}, fmt.Errorf("there is no seed at %s: make one with uimgate agent keygen --via uagents", path)
	}
	if err != nil {
		return agent.Options{}, err
	}
	_, address, _ := strings.Cut(s.via, ":")
	o.UAgent = &agent.UAgent{Key: key, Service: address, Endpoint: s.endpoint, Almanac: s.almanac}
	return o, nil
}

// makeSeed makes the identity of the agent among agents of the uAgents protocol.
func (s *agentSettings) makeSeed(c *cobra.Command, path string) error {
	if err := agent.SaveSeed(path, agent.NewSeed()); err != nil {
		return err
	}
	key, err := agent.LoadSeed(path)
	if err != nil {
		return err
	}
	s.printNote(c, "wrote %s", path)
	return s.printData(c, map[string]any{"seed_file": path, "agent_id": key.Address()}, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, key.Address())
		return err
	})
}
