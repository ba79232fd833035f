// Command uimgate is a gateway that makes the API of a web service usable by AI agents. It publishes what the service offers, accepts
// signed agreements to the service's terms, and forwards only the calls that those terms allow.
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
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/agentcmd"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/gatewaycmd"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/mrpcmd"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/operatorcmd"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/policycmd"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/relaycmd"
	"github.com/uimgate/uimgate/config"
)

// The exit codes of every command.
const (
	exitDone  = 0
	exitWrong = 1 // the command failed
	exitUsage = 2 // the command line is invalid
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() { // a second signal terminates the process immediately
		<-ctx.Done()
		stop()
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := rootCommand() //nolint:contextcheck // cobra passes the context to each command
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(ctx)
	_, usage := errors.AsType[cli.UsageError](err)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, cli.ErrSilent):
		return exitWrong
	case usage:
		fmt.Fprintf(stderr, "uimgate: %v\n%sRun '%s --help' for usage.\n", err, dashHint(args), command.CommandPath())
		return exitUsage
	default:
		fmt.Fprintf(stderr, "uimgate: %v\n", err)
		return exitWrong
	}
}

// dashed matches an argument that looks like an identifier beginning with "-": a key's thumbprint or a jti in base64url.
var dashed = regexp.MustCompile(`^-[A-Za-z0-9_-]{21,42}$`)

// dashHint returns a line that explains how to pass an identifier that begins with "-" and was parsed as a flag. It returns "" if no
// argument before "--" looks like such an identifier.
func dashHint(args []string) string {
	for _, arg := range args {
		switch {
		case arg == "--":
			return ""
		case dashed.MatchString(arg) && !strings.HasPrefix(arg, "--"):
			return "An identifier that begins with - must come after all flags and a separate --: ... -- " + arg + "\n"
		}
	}
	return ""
}

// policyCommand returns the command uimgate policy. It combines the commands that need no gateway with those about the policy of a running
// one.
func policyCommand() *cobra.Command {
	c := policycmd.Command()
	c.AddCommand(operatorcmd.PolicyImpact(), operatorcmd.PolicySave(), operatorcmd.PolicyChanges())
	return c
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "uimgate",
		Short: "A gateway that makes a web service's API usable by AI agents, on the service's terms",
		Long: `uimgate is a gateway in front of a web service's API. It publishes what the service offers
(agents.json) and the terms (an ODRL policy), verifies an agent's signed agreement, and issues
a Policy Adherence Token (PAT). It then forwards the calls that the agreed policy allows, and
validates, limits, meters and accounts for each of them.`,
		Example: `  uimgate demo                    # watch an agent discover, agree and execute
  uimgate check -c uimgate.yaml   # report the problems that would stop serve
  uimgate serve -c uimgate.yaml   # run the gateway`,
		SilenceErrors: true, SilenceUsage: true,
		Version: cli.ReadVersion().Version,
		Args:    cli.Args(cli.KnownCommand),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate(cli.ReadVersion().String() + "\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.Usage(err) })
	mrp, relay := mrpCommands()
	root.AddCommand(
		demoCommand(), // cmd/uimgate/internal/demo

		// A gateway: cmd/uimgate/internal/gatewaycmd
		gatewaycmd.Init(), gatewaycmd.Check(), gatewaycmd.Config(), gatewaycmd.Serve(), gatewaycmd.DNS(), gatewaycmd.ServerJSON(),

		// Its operator: cmd/uimgate/internal/operatorcmd
		operatorcmd.Status(), operatorcmd.Console(), operatorcmd.Doors(), operatorcmd.Reload(), operatorcmd.Stop(), operatorcmd.Resume(),
		operatorcmd.Processes(), operatorcmd.Agents(), operatorcmd.Intents(), operatorcmd.Curation(),
		operatorcmd.Agreements(), operatorcmd.PATs(),
		operatorcmd.Usage(), operatorcmd.Keys(), operatorcmd.Calls(), operatorcmd.Why(),
		operatorcmd.Backup(), operatorcmd.Restore(), operatorcmd.MoveStore(), operatorcmd.VerifyLedger(),

		// Policies: cmd/uimgate/internal/policycmd
		policyCommand(),

		// Agents: cmd/uimgate/internal/agentcmd
		agentcmd.Command(), agentcmd.Bridge(), agentcmd.Types(),

		// The Machine Relay Protocol: cmd/uimgate/internal/{mrpcmd,relaycmd}
		mrp, relay,

		versionCommand(),
	)
	return root
}

// mrpCommands returns the commands for the Machine Relay Protocol: mrp is for agents and for operators of a relay, and relay runs one.
func mrpCommands() (mrp, relay *cobra.Command) {
	mrp = mrpcmd.Command()
	mrp.AddCommand(relaycmd.Operator()...)
	return mrp, relaycmd.Serve(func(w io.Writer) *zap.Logger {
		return gatewaycmd.NewLogger(config.Log{Level: "info", Format: config.LogAuto}, w)
	})
}

func versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "Print version, commit and Go version", Args: cli.Args(cobra.NoArgs),
		Example: "  uimgate version --json",
		RunE: func(c *cobra.Command, _ []string) error {
			v := cli.ReadVersion()
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(v)
			}
			_, err := fmt.Fprintln(c.OutOrStdout(), v)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON")
	return c
}
