// Command uimgate makes the API of a web service usable by AI agents: it publishes what the service offers, takes signed agreement to its
// terms, and lets each call through exactly as far as the terms allow.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/mrpcmd"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/relaycmd"
	"github.com/uimgate/uimgate/config"
)

// The exit codes of every command.
const (
	exitDone  = 0
	exitWrong = 1 // it went wrong
	exitUsage = 2 // the command line is wrong
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() { // a second signal ends the process at once
		<-ctx.Done()
		stop()
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// errSilent ends a command with exit code 1 after it has printed itself what went wrong.
var errSilent = errors.New("failed")

// usageError marks a mistake in the command line.
type usageError struct{ error }

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := rootCommand() //nolint:contextcheck // cobra hands the context to each command
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(ctx)
	_, usage := errors.AsType[usageError](err)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errSilent):
		return exitWrong
	case usage:
		fmt.Fprintf(stderr, "uimgate: %v\n%sRun '%s --help' for usage.\n", err, dashHint(args), command.CommandPath())
		return exitUsage
	default:
		fmt.Fprintf(stderr, "uimgate: %v\n", err)
		return exitWrong
	}
}

// dashed is an argument like an identifier that begins with "-": a key's thumbprint or a jti in base64url.
var dashed = regexp.MustCompile(`^-[A-Za-z0-9_-]{21,42}$`)

// dashHint explains how to give an identifier that begins with "-" and was read as a flag. It is empty if there is none.
func dashHint(args []string) string {
	for _, arg := range args {
		switch {
		case arg == "--":
			return ""
		case dashed.MatchString(arg) && !strings.HasPrefix(arg, "--"):
			return "An identifier that begins with - is given after all flags, behind --: ... -- " + arg + "\n"
		}
	}
	return ""
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "uimgate",
		Short: "A gateway that makes a web service's API usable by AI agents, on the service's terms",
		Long: `uimgate is a gateway in front of a web service's API. It publishes what the service offers
(agents.json) and the terms (an ODRL policy), verifies an agent's signed agreement, issues a
Policy Adherence Token, and then forwards each call as far as the agreed policy allows:
validated, limited, metered and accounted for.`,
		Example: `  uimgate demo                    # see all of it happen
  uimgate check -c uimgate.yaml   # what serve would refuse
  uimgate serve -c uimgate.yaml   # the gateway`,
		SilenceErrors: true, SilenceUsage: true,
		Version: readVersion().Version,
		Args:    usageArgs(knownCommand),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate(readVersion().String() + "\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(
		demoCommand(), serveCommand(), checkCommand(), configCommand(), policyCommand(), initCommand(), keysCommand(), backupCommand(),
		restoreCommand(), verifyLedgerCommand(), agentCommand(), mcpCommand(), dnsCommand(), serverJSONCommand(), versionCommand(),
	)
	root.AddCommand(mrpCommands()...)
	root.AddCommand(operatorCommands()...)
	return root
}

// mrpCommands are those of the Machine Relay Protocol: for agents, and for operators of a relay.
func mrpCommands() []*cobra.Command {
	version, usage := readVersion().Version, func(err error) error { return usageError{err} }
	relay := relaycmd.Program{
		Version: version, Usage: usage,
		Log: func(w io.Writer) *zap.Logger { return newLogger(config.Log{Level: "info", Format: config.LogAuto}, w) },
	}
	agent := mrpcmd.Command(mrpcmd.Program{Version: version, Usage: usage})
	agent.AddCommand(relaycmd.Operator(relay)...)
	return []*cobra.Command{agent, relaycmd.Serve(relay)}
}

// knownCommand refuses an unknown command, and suggests the nearest.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q for %q", args[0], c.CommandPath())
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("%w: did you mean %s?", err, strings.Join(near, " or "))
	}
	return err
}

// usageArgs makes a wrong number of arguments a mistake of usage.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}

// version is set by the linker in releases; where it is empty, that of the module is taken.
var version = ""

type buildVersion struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

func (v buildVersion) String() string {
	return fmt.Sprintf("uimgate %s (commit %s, %s)", v.Version, v.Commit, v.Go)
}

func readVersion() buildVersion {
	v := buildVersion{Version: version, Commit: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if v.Version == "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}

func versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "Print version, commit and Go version", Args: usageArgs(cobra.NoArgs),
		Example: "  uimgate version --json",
		RunE: func(c *cobra.Command, _ []string) error {
			v := readVersion()
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(v)
			}
			_, err := fmt.Fprintln(c.OutOrStdout(), v)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as one line of JSON")
	return c
}
