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

// checkVia checks the flags that select the protocol of a command. The error is a usage error.
func (s *agentSettings) checkVia(c *cobra.Command) error {
	kind, address, _ := strings.Cut(s.via, ":")
	switch agent.Via(kind) {
	case agent.ViaUIM, agent.ViaMCP, agent.ViaA2A:
		switch {
		case address != "" || kind == "" && s.via != "":
			return cli.Usage(fmt.Errorf("--via must be mcp, a2a, uagents, uagents:agent1… or mrp://relay/key, not %.60q", s.via))
		case kind != "" && c.Name() != "execute":
			return cli.Usage(fmt.Errorf("--via %s is only for execute: agree, renew and revoke without it", kind))
		case s.endpoint != "" || s.almanac != "":
			return cli.Usage(errors.New("--uagents-endpoint and --almanac require --via uagents"))
		}
		return nil
	case agent.ViaUAgents:
		if s.id != "" {
			return cli.Usage(errors.New("with --via uagents, the agent id is the agent's address: omit --agent-id"))
		}
		return nil
	case agent.ViaMRP:
		if s.id != "" {
			return cli.Usage(errors.New("with --via mrp, the agent id is the agent's key: omit --agent-id"))
		}
		if relay, err := s.onRelay(); relay != nil || err != nil {
			return err
		}
	}
	return cli.Usage(fmt.Errorf("--via must be mcp, a2a, uagents, uagents:agent1… or mrp://relay/key, not %.60q", s.via))
}

// way returns the protocol that --via selects.
func (s *agentSettings) way() agent.Via {
	kind, _, _ := strings.Cut(s.via, ":")
	return agent.Via(kind)
}

// isUAgent reports whether --via selects the uAgents protocol.
func (s *agentSettings) isUAgent() bool { return s.way() == agent.ViaUAgents }

// keyName returns the default name of the file that contains the agent's private key or seed.
func (s *agentSettings) keyName() string {
	if s.isUAgent() {
		return "uagents.seed"
	}
	return "agent.pem"
}

// uagentOptions returns o with the settings of an agent of the uAgents protocol. It reads the agent's seed from path.
func (s *agentSettings) uagentOptions(o agent.Options, path string) (agent.Options, error) {
	key, err := agent.LoadSeed(path)
	if errors.Is(err, os.ErrNotExist) {
		return agent.Options{}, fmt.Errorf("the seed %s does not exist: create it with uimgate agent keygen --via uagents", path)
	}
	if err != nil {
		return agent.Options{}, err
	}
	_, address, _ := strings.Cut(s.via, ":")
	o.UAgent = &agent.UAgent{Key: key, Service: address, Endpoint: s.endpoint, Almanac: s.almanac}
	return o, nil
}

// makeSeed creates an identity of the uAgents protocol for the agent, and prints its address.
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

// onRelay returns the relay and the key of the service from --via mrp://relay/key. It returns nil if --via does not name a relay. The URL
// of a relay on this machine has the scheme http, and that of any other relay has https.
func (s *agentSettings) onRelay() (*agent.Relay, error) {
	kind, address, _ := strings.Cut(s.via, ":")
	if agent.Via(kind) != agent.ViaMRP || address == "" {
		return nil, nil
	}
	host, key, named := strings.Cut(strings.TrimPrefix(address, "//"), "/")
	u, err := url.Parse("https://" + host)
	if !strings.HasPrefix(address, "//") || !named || key == "" || strings.Contains(key, "/") || err != nil || u.Hostname() == "" ||
		u.User != nil {
		return nil, cli.Usage(fmt.Errorf("--via mrp://relay/key must name the host of a relay and the key of the service, not %.100q", s.via))
	}
	if fetch.LoopbackHost(u.Hostname()) {
		u.Scheme = "http"
	}
	return &agent.Relay{URL: u.String(), Service: key, Encrypt: s.encrypt}, nil
}
