package agentcmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/uimgate/uimgate/agent/bridge/confirm"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/internal/lines"
	"github.com/uimgate/uimgate/internal/money"
)

// confirmPath returns the path of the file with the digest of the owner's code.
func (s *agentSettings) confirmPath() (string, error) {
	if s.data != "" {
		return filepath.Join(s.data, "confirm.json"), nil
	}
	return cli.ConfigPath("XDG_CONFIG_HOME", ".config", "confirm.json")
}

func agentConfirmCodeCommand(s *agentSettings) *cobra.Command {
	return &cobra.Command{
		Use: "confirm-code", Short: "Set the code that confirms the calls of your assistant",
		Long: `Confirm-code reads a code of 6 to 128 characters: twice from the terminal, or one line from stdin. uimgate mcp
--confirm-above asks for it on the page on which you confirm a call. The file contains only a digest of the code. Do
not give the code to an assistant.`,
		Example: "  uimgate agent confirm-code\n  uimgate mcp shop.example --confirm-above \"1 EUR\"",
		Args:    cli.Args(cobra.NoArgs),
		RunE: s.run(func(c *cobra.Command, _ []string) error {
			path, err := s.confirmPath()
			if err != nil {
				return err
			}
			code, err := readCode(c)
			if err != nil {
				return err
			}
			if err := confirm.SaveCode(path, code); err != nil {
				return err
			}
			s.printNote(c, "wrote %s", path)
			return nil
		}),
	}
}

// readCode reads a code: twice from a terminal, without echo, or one line from another stdin.
func readCode(c *cobra.Command) (string, error) {
	in, isFile := c.InOrStdin().(*os.File)
	if !isFile || !term.IsTerminal(int(in.Fd())) {
		text, err := lines.Read(bufio.NewReader(c.InOrStdin()), confirm.MaxCode*4+2)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("reading the code: %w", err)
		}
		return strings.TrimRight(string(text), "\r\n"), nil
	}
	var typed [2]string
	for n, prompt := range []string{"Code: ", "The same code again: "} {
		fmt.Fprint(c.ErrOrStderr(), prompt)
		text, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(c.ErrOrStderr())
		if err != nil {
			return "", fmt.Errorf("reading the code: %w", err)
		}
		typed[n] = string(text)
	}
	if typed[0] != typed[1] {
		return "", errors.New("the two codes differ: nothing was stored")
	}
	return typed[0], nil
}

// confirmAbove parses the amounts of --confirm-above.
func (s *bridgeSettings) confirmAbove() ([]money.Amount, error) {
	var list []money.Amount
	for _, text := range s.confirms {
		amount, err := money.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("--confirm-above %.40q: want an amount such as \"1 EUR\": %w", text, err)
		}
		list = append(list, amount)
	}
	return list, nil
}

// pages returns the pages on which the owner confirms calls; nil without --confirm-above. The owner must have set a code.
func (s *bridgeSettings) pages() (*confirm.Pages, error) {
	if len(s.confirms) == 0 {
		return nil, nil //nolint:nilnil // the bridge asks about no call
	}
	path, err := s.confirmPath()
	if err != nil {
		return nil, err
	}
	switch err := confirm.CheckCode(path); {
	case errors.Is(err, os.ErrNotExist):
		command := quoted(append([]string{self(), "agent", "confirm-code"}, s.dataFlag()...))
		return nil, fmt.Errorf("--confirm-above requires a code, with which you confirm calls: set it with %s", command)
	case err != nil:
		return nil, err
	}
	return confirm.New(confirm.Options{CodePath: path}), nil
}

// dataFlag returns --data with its absolute path, if it is set.
func (s *bridgeSettings) dataFlag() []string {
	if s.data == "" {
		return nil
	}
	return []string{"--data", absolute(s.data)}
}
