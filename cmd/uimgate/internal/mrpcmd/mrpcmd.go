// Package mrpcmd implements the commands of uimgate mrp that let people and scripts act as an agent at a relay of the Machine Relay
// Protocol.
package mrpcmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/agent/mrp"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// settings are the flags that all commands share.
type settings struct {
	relay, key, output string
	insecure           bool
}

// Command returns the command uimgate mrp.
func Command() *cobra.Command {
	s := &settings{}
	c := &cobra.Command{
		Use:   "mrp",
		Short: "Act as an agent at a relay of the Machine Relay Protocol: find agents, send and receive messages",
		Long: `The mrp commands act as an agent at a relay of the Machine Relay Protocol. The agent is its key. It needs no
account: the relay registers the key with its first request. Use a separate key for each relay. Data goes
to stdout, and text for people to stderr. Messages that are encrypted for this agent are printed decrypted. With
send --encrypt, the relay cannot read the message.`,
		Example: `  uimgate mrp keygen
  uimgate mrp discover translate --relay https://relay.mrphub.io
  uimgate mrp send Kay64UG8yvCyLhqU000LxzYeUm0L_hLIl5S8kyKWbdc --text 'hello' --relay https://relay.mrphub.io
  uimgate mrp listen --relay https://relay.mrphub.io`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if s.output != "text" && s.output != "json" {
				return cli.Usage(fmt.Errorf("-o must be text or json, not %q", s.output))
			}
			return nil
		},
	}
	f := c.PersistentFlags()
	f.StringVar(&s.relay, "relay", os.Getenv("UIMGATE_MRP_RELAY"), "URL of the relay, without /v1 ($UIMGATE_MRP_RELAY)")
	f.StringVar(&s.key, "key", "", "file with the agent's 32-byte seed (default $XDG_CONFIG_HOME/uimgate/mrp.seed)")
	f.StringVarP(&s.output, "output", "o", "text", "text or json")
	f.BoolVar(&s.insecure, "insecure", false, "allow http and private addresses (loopback addresses are always allowed)")
	c.AddCommand(s.keygen(), s.profile(), s.discover(), s.send(), s.poll(), s.listen(), s.blob())
	return c
}

func (s *settings) keyPath() (string, error) {
	if s.key != "" {
		return s.key, nil
	}
	return cli.ConfigPath("XDG_CONFIG_HOME", ".config", "mrp.seed")
}

// client creates the client from the flags. It returns an error if there is no key.
func (s *settings) client() (*mrp.Client, error) {
	if s.relay == "" {
		return nil, cli.Usage(errors.New("name the relay with --relay or $UIMGATE_MRP_RELAY"))
	}
	path, err := s.keyPath()
	if err != nil {
		return nil, err
	}
	key, err := mrp.LoadKey(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("the key %s does not exist: create it with uimgate mrp keygen", path)
	case err != nil:
		return nil, err
	}
	c, err := mrp.New(mrp.Options{Relay: s.relay, Key: key, AllowInsecure: s.insecure, UserAgent: "uimgate-mrp/" + cli.ReadVersion().Version})
	if err != nil {
		return nil, cli.Usage(err)
	}
	return c, nil
}

// parseKey parses the key of another agent. The error is a usage error.
func (s *settings) parseKey(text string) (wire.Key, error) {
	k, err := wire.ParseKey(text)
	if err != nil {
		return k, cli.Usage(fmt.Errorf("%.60q is not the key of an agent: %w", text, err))
	}
	return k, nil
}

// print writes data to stdout: as a line of JSON with -o json, otherwise by text.
func (s *settings) print(c *cobra.Command, data any, text func(w io.Writer)) error {
	if s.output == "json" {
		return cli.PrintLine(c.OutOrStdout(), data)
	}
	var b strings.Builder
	text(&b)
	_, err := io.WriteString(c.OutOrStdout(), b.String())
	return err
}

// note writes text for people to stderr, and nothing with -o json.
func (s *settings) note(c *cobra.Command, format string, args ...any) {
	if s.output != "json" {
		fmt.Fprintf(c.ErrOrStderr(), format+"\n", args...)
	}
}

func (s *settings) keygen() *cobra.Command {
	return &cobra.Command{
		Use: "keygen", Short: "Create an agent: a key in a new file", Args: cli.Args(cobra.NoArgs),
		Long: `Keygen writes 32 random bytes to a new file that only its owner can read, and prints the public key, which is the
agent's address. The SDKs of the protocol can read the file.`,
		Example: "  uimgate mrp keygen\n  uimgate mrp keygen --key robot.seed",
		RunE: func(c *cobra.Command, _ []string) error {
			path, err := s.keyPath()
			if err != nil {
				return err
			}
			key := mrp.NewKey()
			if err := mrp.SaveKey(path, key); err != nil {
				return err
			}
			s.note(c, "wrote %s", path)
			return s.print(c, map[string]any{"key_file": path, "public_key": wire.KeyOf(key)}, func(w io.Writer) {
				fmt.Fprintln(w, wire.KeyOf(key))
			})
		},
	}
}
