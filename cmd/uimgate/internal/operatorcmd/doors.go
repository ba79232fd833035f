package operatorcmd

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/catalogue"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/testcalls"
	"github.com/uimgate/uimgate/internal/strictjson"
)

var connectionColumns = cli.Fields[catalogue.Connection]("door client place text")

func (o *operator) doorsConnect() *cobra.Command {
	return &cobra.Command{
		Use: "connect", Short: "Show how each kind of client connects to a service", Args: cli.Args(cobra.NoArgs),
		Long: `Connect prints commands, settings and code for the clients of the doors that are open, with the addresses of the service.
They contain no keys and no tokens: each agent agrees with a key of its own.`,
		Example: "  uimgate doors connect\n  uimgate doors connect --service shop -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			page, err := call(c, o, operation.Connections, catalogue.ConnectionQuery{Service: o.service})
			if err != nil {
				return err
			}
			return cli.Print(c, o.format, page, page.Items, connectionColumns, func(out io.Writer) error {
				for _, one := range page.Items {
					fmt.Fprintf(out, "# %s, %s: %s\n", cli.Sanitize(one.Door), cli.Sanitize(one.Client), cli.Sanitize(one.Place))
					printText(out, one.Text)
				}
				return nil
			})
		},
	}
}

// printText prints the lines of a text, without characters that control the terminal, and an empty line.
func printText(out io.Writer, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintln(out, cli.Sanitize(strings.TrimSuffix(line, "\n")))
	}
	fmt.Fprintln(out)
}

func (o *operator) doorsAgree() *cobra.Command {
	var digest string
	c := &cobra.Command{
		Use: "agree", Short: "Make the test agent of a service agree to its policy", Args: cli.Args(cobra.NoArgs),
		Long: `Agree signs the policy in force with the key of the test agent, and requests a PAT for the calls of uimgate doors try. The
test agent is an ordinary agent: with admission by approval, it waits for yours. After a change of the policy and after
a restart of the gateway, it must agree again.

Read the policy first, and name its digest, which uimgate status prints. Without --digest, agree prints the digest and
changes nothing.`,
		Example: "  uimgate doors agree --digest sha-256:…",
		RunE: func(c *cobra.Command, _ []string) error {
			if digest == "" {
				agent, err := call(c, o, operation.TestAgent, testcalls.PlaygroundQuery{Service: o.service})
				if err != nil {
					return err
				}
				fmt.Fprintf(c.ErrOrStderr(), "The policy in force is %s. To agree to it, add --digest %s\n",
					cli.Sanitize(agent.Policy.UID), cli.Sanitize(agent.Policy.Digest))
				return printAgent(c, o, agent)
			}
			got, err := call(c, o, operation.AgreeTest, testcalls.TestConsent{Service: o.service, PolicyDigest: digest})
			if err != nil {
				return err
			}
			if got.Status/100 != 2 {
				printText(c.ErrOrStderr(), got.Response)
				return errors.New("the gateway refused the agreement")
			}
			return printAgent(c, o, got.Agent)
		},
	}
	c.Flags().StringVar(&digest, "digest", "", "the digest of the policy that you have read")
	return c
}

var testAgentColumns = cli.Fields("agent state agreement policy doors",
	cli.TextColumn("agent", func(a testcalls.TestAgent) string { return string(a.AgentID) }),
	cli.TextColumn("agreement", func(a testcalls.TestAgent) string { return string(a.AgreementID) }),
	cli.TextColumn("policy", func(a testcalls.TestAgent) string { return a.Policy.Digest }),
)

func printAgent(c *cobra.Command, o *operator, a testcalls.TestAgent) error {
	return cli.PrintOne(c, o.format, a, testAgentColumns)
}

var testResultColumns = cli.Fields("request_id status decision reason rule charge execution",
	cli.TextColumn("charge", func(r testcalls.TestResult) string { return strings.TrimSpace(r.Charge + " " + r.ChargeState) }),
)

func (o *operator) doorsTry() *cobra.Command {
	var request testcalls.TestCall
	var params []string
	c := &cobra.Command{
		Use: "try INTENT", Short: "Call an intent as the test agent of a service", Args: cli.Args(cobra.ExactArgs(1)),
		Long: `Try makes a call as the test agent, which must have agreed: see uimgate doors agree. The gateway treats the call as that of
any other agent: it may refuse, limit and charge it. Give the agent credit with uimgate usage top-up. Try prints the
request and the response as they go over the wire, and the decision. uimgate why explains it. The exit code is 1 if the
gateway refused the call.

The value of --param is JSON. A value that is not JSON is a string: write --param 'id="17"' for a string of digits.`,
		Example: "  uimgate doors try shop.example:get-product:v1 --param id=desk-lamp\n" +
			"  uimgate doors try shop.example:get-product:v1 --param id=desk-lamp --via mcp",
		RunE: func(c *cobra.Command, args []string) error {
			request.Service, request.Intent, request.Parameters = o.service, args[0], strictjson.Object{}
			for _, p := range params {
				name, value, ok := strings.Cut(p, "=")
				if !ok || name == "" {
					return cli.Usage(fmt.Errorf("--param must be NAME=VALUE, not %.60q", p))
				}
				request.Parameters[name] = parameterValue(value)
			}
			got, err := call(c, o, operation.TryCall, request)
			if err != nil {
				return err
			}
			if o.format == "table" {
				printText(c.OutOrStdout(), got.Request)
				printText(c.OutOrStdout(), got.Response)
			}
			if err := cli.PrintOne(c, o.format, got, testResultColumns); err != nil {
				return err
			}
			if got.Decision == "deny" || got.Status/100 != 2 {
				return cli.ErrSilent
			}
			return nil
		},
	}
	c.Flags().StringArrayVar(&params, "param", nil, "a parameter, as NAME=VALUE; may be repeated")
	c.Flags().StringVar(&request.Door, "via", "", "the protocol: uim (default), mcp or a2a")
	c.Flags().StringVar(&request.IdempotencyKey, "idempotency-key", "", "a repeated call with the same key returns the first response")
	return c
}

// parameterValue returns a value as JSON, or as text if it is not JSON.
func parameterValue(text string) any {
	if value, err := strictjson.Decode([]byte(text)); err == nil {
		return value
	}
	return text
}
