package agentcmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/verify"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/discovery"
	"github.com/uimgate/uimgate/internal/strictjson"
)

func agentVerifyCommand(s *agentSettings) *cobra.Command {
	var (
		agree      bool
		issuer     string
		maxTime    time.Duration
		parameters []string
	)
	c := &cobra.Command{
		Use: "verify SERVICE", Short: "Check whether a service conforms to UIM",
		Long: `Verify checks any UIM service against the specification: DNS, agents.json, the policy, search, errors
and, with --allow-agree, agreement, tokens, execution, renewal and revocation. It also checks the MCP
and A2A endpoints that agents.json names, and the catalogs that announce them. It prints a table of the
checks, each with its result (holds, missing or wrong) and its section of the specification.

Without --allow-agree, verify signs nothing. With --allow-agree, it signs the policy that the service
currently offers, with your key or a key for this run, and revokes the token at the end. It calls only
intents that are marked safe and are free, once through each protocol. The parameters come from their
defaults, examples and enums, or from --params. The exit code is 1 if anything required is missing or
wrong, or if the time limit ended the run.`,
		Example: `  uimgate agent verify shop.example
  uimgate agent verify https://shop.example --allow-agree -o json
  uimgate agent verify http://127.0.0.1:8080 --allow-agree --params 'shop.example:search:v1={"query":"tea"}'`,
		Args: cli.Args(cobra.ExactArgs(1)),
		// Unlike the other commands, this one has the output format table in place of text.
		PersistentPreRunE: func(*cobra.Command, []string) error {
			switch s.output {
			case "table":
				s.output = "text"
			case "text", "json":
			default:
				return cli.Usage(fmt.Errorf("-o must be table or json, not %q", s.output))
			}
			return nil
		},
		RunE: s.run(func(c *cobra.Command, args []string) error {
			given, err := readCalls(parameters)
			if err != nil {
				return err
			}
			if maxTime <= 0 {
				return cli.Usage(errors.New("--max-time must be more than 0"))
			}
			o, err := s.verifyOptions(c.Flags().Changed("timeout"))
			if err != nil {
				return err
			}
			report, err := verify.Run(c.Context(), verify.Options{
				Target: args[0], Client: o, Agree: agree, Issuer: issuer, MaxTime: maxTime, Parameters: given, Lookup: lookupRecords,
			})
			if errors.Is(err, agent.ErrTarget) || errors.Is(err, agent.ErrOptions) {
				return cli.Usage(err)
			}
			if err != nil {
				return err
			}
			if err := s.printData(c, report, func(w io.Writer) error { return reportTable(w, report) }); err != nil {
				return err
			}
			return verdict(s, c, report)
		}),
	}
	f := c.Flags()
	f.BoolVar(&agree, "allow-agree", false, "sign the policy that the service currently offers, and check agreement and execution")
	f.StringVar(&issuer, "issuer", "", "agree with this issuer even if the host does not vouch for it")
	f.DurationVar(&maxTime, "max-time", verify.DefaultMaxTime, "time limit for the whole run")
	f.StringArrayVar(&parameters, "params", nil, "parameters for the call to a safe intent, UID={…} (repeat for several)")
	return c
}

// verifyOptions returns the options of the verifying agent, with the agent's key if there is one. timed means that the flag --timeout is
// set.
func (s *agentSettings) verifyOptions(timed bool) (agent.Options, error) {
	o := agent.Options{
		AgentID: s.id, AllowInsecure: s.insecure, AllowStatic: s.static, UserAgent: "uimgate-verify/" + cli.ReadVersion().Version,
	}
	if timed { // otherwise, package verify uses its own shorter timeout
		if o.Timeout = s.timeout; s.timeout <= 0 {
			return agent.Options{}, cli.Usage(errors.New("--timeout must be more than 0"))
		}
	}
	path, err := s.keyPath()
	if err != nil {
		return agent.Options{}, err
	}
	o.Key, err = agent.LoadKey(path)
	if errors.Is(err, os.ErrNotExist) && s.key == "" {
		err = nil
	}
	return o, err
}

// verdict prints a summary of a report. It returns cli.ErrSilent if the run is incomplete or a required check failed.
func verdict(s *agentSettings, c *cobra.Command, r verify.Report) error {
	s.printNote(c, "%d hold, %d missing, %d wrong, %d skipped",
		r.Count(verify.Holds), r.Count(verify.Missing), r.Count(verify.Wrong), r.Count(verify.Skipped))
	switch {
	case !r.Complete:
		s.printNote(c, "the time limit ended the run before all checks were made: increase --max-time")
	case !r.Passed():
		s.printNote(c, "something required is missing or wrong")
	default:
		return nil
	}
	return cli.ErrSilent
}

// lookupRecords looks up the UIM records of a domain in DNS. A domain without records is not an error.
func lookupRecords(ctx context.Context, domain string) (verify.Records, error) {
	found, err := discovery.New(discovery.Options{}).Lookup(ctx, domain)
	if errors.Is(err, discovery.ErrNotFound) {
		return verify.Records{}, nil
	}
	return verify.Records{AgentsFile: found.AgentsFile, PolicyFile: found.Policy, Discovery: found.Discovery, License: found.License}, err
}

// readCalls parses the values of --params into parameters by intent.
func readCalls(list []string) (map[string]map[string]any, error) {
	out := map[string]map[string]any{}
	for _, text := range list {
		uid, object, ok := strings.Cut(text, "=")
		if !ok || uid == "" || len(object) > maxParameters {
			return nil, cli.Usage(errors.New(`--params must be written <intent uid>={"name": value}`))
		}
		tree, err := strictjson.DecodeObject([]byte(object))
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("--params: %w", err))
		}
		out[uid] = tree
	}
	return out, nil
}

func reportTable(w io.Writer, r verify.Report) error {
	b := bufio.NewWriter(w)
	t := tabwriter.NewWriter(b, 0, 4, 2, ' ', 0)
	fmt.Fprint(t, "OUTCOME\tLEVEL\tCHECK\tSECTION\tWHAT\n")
	for _, c := range r.Checks {
		what := c.Title
		if c.Detail != "" {
			what += ": " + c.Detail
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", c.Outcome, c.Level, c.ID, c.Section, printable(what))
	}
	return errors.Join(t.Flush(), b.Flush())
}
