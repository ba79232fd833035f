package agentcmd

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/internal/fetch"
)

// checkVia checks the flags that select the way of a command.
func (s *agentSettings) checkVia(c *cobra.Command) error {
	kind, address, _ := strings.Cut(s.via, ":")
	switch agent.Via(kind) {
	case agent.ViaUIM, agent.ViaMCP, agent.ViaA2A:
		switch {
		case address != "" || kind == "" && s.via != "":
			return cli.Usage(fmt.Errorf("--via is mcp, a2a, uagents, uagents:agent1… or mrp://relay/key, not %.60q", s.via))
		case kind != "" && c.Name() != "execute":
			return cli.Usage(fmt.Errorf("--via %s is a way of execute alone: agreements are UIM's own there", kind))
		case s.endpoint != "" || s.almanac != "":
			return cli.Usage(errors.New("--uagents-endpoint and --almanac go with --via uagents"))
		}
		return nil
	case agent.ViaUAgents:
		if s.id != "" {
			return cli.Usage(errors.New("with --via uagents the agent's id is its address: leave out --agent-id"))
		}
		return nil
	case agent.ViaMRP:
		if s.id != "" {
			return cli.Usage(errors.New("with --via mrp the agent's id is its key: leave out --agent-id"))
		}
		if relay, err := s.onRelay(); relay != nil || err != nil {
			return err
		}
	}
	return cli.Usage(fmt.Errorf("--via is mcp, a2a, uagents, uagents:agent1… or mrp://relay/key, not %.60q", s.via))
}

// way returns the way that a call takes.
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

// uagentOptions returns the options of a client that is an agent of the uAgents protocol, whose seed is in a file.
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

// onRelay returns the relay of --via mrp://relay/key, and the key of the service there; nil: --via names no relay. The URL of a relay on
// this machine is http.
func (s *agentSettings) onRelay() (*agent.Relay, error) {
	kind, address, _ := strings.Cut(s.via, ":")
	if agent.Via(kind) != agent.ViaMRP || address == "" {
		return nil, nil
	}
	host, key, named := strings.Cut(strings.TrimPrefix(address, "//"), "/")
	u, err := url.Parse("https://" + host)
	if !strings.HasPrefix(address, "//") || !named || key == "" || strings.Contains(key, "/") || err != nil || u.Hostname() == "" ||
		u.User != nil {
		return nil, cli.Usage(fmt.Errorf("--via mrp://relay/key has the host of a relay and the key of the service, not %.100q", s.via))
	}
	if fetch.LoopbackHost(u.Hostname()) {
		u.Scheme = "http"
	}
	return &agent.Relay{URL: u.String(), Service: key, Encrypt: s.encrypt}, nil
}
