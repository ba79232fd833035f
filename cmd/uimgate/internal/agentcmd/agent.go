// Package agentcmd implements the commands for agents: uimgate agent, and uimgate mcp, the bridge for assistants.
package agentcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/discovery"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/quote"
	"github.com/uimgate/uimgate/internal/reason"
)

// agentSettings are the flags that all commands of an agent share.
type agentSettings struct {
	data, key, id, state, output string
	dns                          string
	via, endpoint, almanac       string
	encrypt                      bool
	insecure, static             bool
	timeout                      time.Duration
	pay                          payer // nil: the agent does not pay
}

// Command returns the command uimgate agent.
func Command() *cobra.Command {
	s := &agentSettings{}
	c := &cobra.Command{
		Use:   "agent",
		Short: "Act as an agent: discover, agree and execute, with any UIM service",
		Long: `The agent commands work with any UIM service: they discover what the service offers, read its
policy, agree to it by signature, and execute intents. Data goes to stdout, and text for people
to stderr. Keys are stored under $XDG_CONFIG_HOME/uimgate, agreements and their tokens under
$XDG_STATE_HOME/uimgate/agent, readable only by their owner.`,
		Example: `  uimgate agent keygen
  uimgate agent discover shop.example
  uimgate agent agree shop.example
  uimgate agent execute shop.example:search:v1 query=tea`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if s.output != "text" && s.output != "json" {
				return cli.Usage(fmt.Errorf("-o must be text or json, not %q", s.output))
			}
			return s.checkVia(c)
		},
	}
	f := c.PersistentFlags()
	f.StringVar(&s.data, "data", "", "one directory for key and agreements, as with uimgate mcp --data")
	f.StringVar(&s.key, "key", "", "private key, PEM PKCS#8 (default $XDG_CONFIG_HOME/uimgate/agent.pem)")
	f.StringVar(&s.id, "agent-id", os.Getenv("UIMGATE_AGENT_ID"), "agent id ($UIMGATE_AGENT_ID; default derived from the key)")
	f.StringVar(&s.state, "state", "", "directory of agreements (default $XDG_STATE_HOME/uimgate/agent)")
	f.StringVarP(&s.output, "output", "o", "text", "text or json")
	f.StringVar(&s.via, "via", "",
		"protocol: mcp or a2a for calls; uagents[:agent1…] or mrp://relay/key for calls and agreements (default: UIM's own)")
	f.StringVar(&s.endpoint, "uagents-endpoint", "",
		"URL to send envelopes to (default: from --almanac or agents.json)")
	f.StringVar(&s.almanac, "almanac", "", "base URL of an Almanac in which to look up where to send envelopes")
	f.BoolVar(&s.encrypt, "encrypt", false, "with --via mrp://relay/key, encrypt calls, replies and PATs, so that the relay cannot read them")
	f.StringVar(&s.dns, "dns", "", "DNS server for finding the service of a domain (default those of /etc/resolv.conf)")
	f.BoolVar(&s.insecure, "insecure", false, "allow http and private addresses (loopback addresses are always allowed)")
	f.BoolVar(&s.static, "allow-static", false, "if a service does not support fresh agreements, sign the bare policy (which can be replayed)")
	f.DurationVar(&s.timeout, "timeout", 0,
		"time limit for a request and its response (default 30s, or as long as the intent states in x-timeout)")
	c.AddCommand(
		agentKeygenCommand(s), agentDiscoverCommand(s), agentSearchCommand(s), agentPolicyCommand(s), agentAgreeCommand(s),
		agentExecuteCommand(s), agentRenewCommand(s), agentRevokeCommand(s), agentVerifyCommand(s), agentReceiptsCommand(s),
		agentConfirmCodeCommand(s),
	)
	return c
}

func (s *agentSettings) keyPath() (string, error) {
	switch {
	case s.key != "":
		return s.key, nil
	case s.data != "":
		return filepath.Join(s.data, s.keyName()), nil
	}
	return cli.ConfigPath("XDG_CONFIG_HOME", ".config", s.keyName())
}

func (s *agentSettings) stateDir() (string, error) {
	switch {
	case s.state != "":
		return s.state, nil
	case s.data != "":
		return filepath.Join(s.data, "agreements"), nil
	}
	return cli.ConfigPath("XDG_STATE_HOME", filepath.Join(".local", "state"), "agent")
}

// client creates the client, as the flags describe it. If there is no key, client returns an error if needsKey is true, and otherwise a
// client without a key.
func (s *agentSettings) client(needsKey bool) (*agent.Client, error) {
	o, err := s.options(needsKey)
	if err != nil {
		return nil, err
	}
	return agent.New(o)
}

// options returns the options of the client from the flags. If there is no key, it returns an error if needsKey is true or the flag --key
// is set, and otherwise options without a key.
func (s *agentSettings) options(needsKey bool) (agent.Options, error) {
	if s.timeout < 0 {
		return agent.Options{}, cli.Usage(errors.New("--timeout must not be negative"))
	}
	o := agent.Options{
		AgentID: s.id, AllowInsecure: s.insecure, AllowStatic: s.static, Timeout: s.timeout,
		UserAgent: "uimgate-agent/" + cli.ReadVersion().Version, Pay: s.pay, Forms: bindings.Forms(),
		SameTerms: func(ctx context.Context, before, after []byte, catalog *intents.Catalog, uid string) bool {
			d, known := quote.Compare(ctx, before, after, catalog)
			return known && d.Same[uid]
		},
	}
	if s.dns != "" {
		o.Locate = discovery.New(discovery.Options{Servers: []string{s.dns}}).Locate
	}
	path, err := s.keyPath()
	if err != nil {
		return agent.Options{}, err
	}
	if o.Receipts, err = s.receiptsDir(); err != nil {
		return agent.Options{}, err
	}
	if s.isUAgent() {
		return s.uagentOptions(o, path)
	}
	if o.Relay, err = s.onRelay(); err != nil {
		return agent.Options{}, err
	}
	switch key, err := agent.LoadKey(path); {
	case err == nil:
		o.Key = key
	case errors.Is(err, os.ErrNotExist) && needsKey:
		return agent.Options{}, fmt.Errorf("the key %s does not exist: create it with uimgate agent keygen", path)
	case errors.Is(err, os.ErrNotExist) && s.key == "":
	default:
		return agent.Options{}, err
	}
	return o, nil
}

// printData writes data to stdout: as JSON with -o json, otherwise by text.
func (s *agentSettings) printData(c *cobra.Command, data any, text func(io.Writer) error) error {
	if s.output != "json" {
		return text(c.OutOrStdout())
	}
	return cli.PrintJSON(c.OutOrStdout(), data)
}

// printNote writes text for people to stderr, and nothing with -o json.
func (s *agentSettings) printNote(c *cobra.Command, format string, args ...any) {
	if s.output != "json" {
		fmt.Fprintf(c.ErrOrStderr(), format+"\n", args...)
	}
}

// run wraps a command so that it prints errors in full, except usage errors: with -o json as data on stdout, and otherwise the details of a
// refusal on stderr. It also returns the error.
func (s *agentSettings) run(f func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		err := f(c, args)
		if err == nil || errors.Is(err, cli.ErrSilent) {
			return err
		}
		if _, usage := errors.AsType[cli.UsageError](err); usage {
			return err
		}
		if s.output == "json" {
			if printErr := s.printData(c, map[string]any{"error": errorData(err)}, nil); printErr != nil {
				return errors.Join(err, printErr)
			}
			return err
		}
		explain(c.ErrOrStderr(), err)
		return err
	}
}

// explain writes the parts of a refusal that its error message does not contain.
func explain(w io.Writer, err error) {
	refusal, ok := errors.AsType[*agent.Error](err)
	if !ok {
		return
	}
	for _, p := range refusal.Discrepancies {
		fmt.Fprintf(w, "  receipt: %s\n", printable(p.String()))
	}
	for _, v := range refusal.Violations {
		fmt.Fprintf(w, "  %s\n", v)
	}
	if refusal.Upstream != "" {
		fmt.Fprintf(w, "  Message of the service's API: %s\n", refusal.Upstream)
	}
	for _, change := range refusal.Changes {
		fmt.Fprintf(w, "  Changed: %s\n", printable(change))
	}
	if refusal.Is(agent.ErrPolicyRequiresAgreement) {
		fmt.Fprintln(w, "  To read what changes and agree again: uimgate agent agree SERVICE")
	}
	if refusal.Suggestion != "" {
		fmt.Fprintf(w, "  %s\n", refusal.Suggestion)
	}
	for _, name := range insteads {
		if list := instead(refusal, name); len(list) > 0 {
			fmt.Fprintf(w, "  %s: %s\n", name, strings.Join(list, ", "))
		}
	}
	if id, ok := refusal.Details["suggested_agent_id"].(string); ok {
		fmt.Fprintf(w, "  --agent-id %s is available for your key.\n", printable(id))
	}
	if refusal.RetryAfter > 0 {
		fmt.Fprintf(w, "  You can retry after %s.\n", refusal.RetryAfter)
	}
	if refusal.Outcome == "unknown" || refusal.Outcome == "done" {
		fmt.Fprintf(w, "  The call may have taken effect (outcome: %s).\n", refusal.Outcome)
	}
	if refusal.Charge != nil {
		fmt.Fprintf(w, "  Charge: %s\n", refusal.Charge)
	}
	if refusal.RequestID != "" {
		fmt.Fprintf(w, "  Request id: %s\n", refusal.RequestID)
	}
}

// insteads are the members of error.details that name alternatives; suggestions refer to them.
var insteads = []string{"nearest", "replaced_by", "versions", "scope_needed"}

// instead returns the strings in a member of error.details, which is a string or a list, without control characters.
func instead(refusal *agent.Error, name string) []string {
	list, isList := refusal.Details[name].([]any)
	if !isList {
		list = []any{refusal.Details[name]}
	}
	var out []string
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, printable(s))
		}
	}
	return out
}

// errorData converts an error to the data that -o json prints.
func errorData(err error) map[string]any {
	data := map[string]any{"message": err.Error()}
	put := func(name string, value any, there bool) {
		if there {
			data[name] = value
		}
	}
	if changed, ok := errors.AsType[*agent.PolicyChangedError](err); ok {
		data["reason"] = reason.PolicyRequiresAgreement
		data["agreed"] = changed.Agreed
		put("offered", changed.Offered, changed.Offered != "")
	}
	if pending, ok := errors.AsType[*agent.PendingError](err); ok {
		data["reason"], data["agreement_id"] = "PENDING", pending.AgreementID
	}
	refusal, ok := errors.AsType[*agent.Error](err)
	if !ok {
		return data
	}
	data["status"] = refusal.Status
	put("message", refusal.Message, refusal.Message != "")
	put("code", refusal.Code, refusal.Code != "")
	put("reason", refusal.Reason, refusal.Reason != "")
	put("uim_code", refusal.UIMCode, refusal.UIMCode != "")
	put("suggestion", refusal.Suggestion, refusal.Suggestion != "")
	put("upstream", map[string]string{"message": refusal.Upstream}, refusal.Upstream != "")
	put("violations", refusal.Violations, len(refusal.Violations) > 0)
	put("retry_after", int64(math.Ceil(refusal.RetryAfter.Seconds())), refusal.RetryAfter > 0)
	put("changes", refusal.Changes, len(refusal.Changes) > 0)
	put("outcome", refusal.Outcome, refusal.Outcome != "")
	if _, unsent := errors.AsType[*agent.RenewalError](err); unsent {
		data["outcome"] = "not_sent"
	}
	if _, lost := errors.AsType[*agent.LostError](err); lost {
		data["outcome"] = "unknown"
	}
	put("charge", chargeData(refusal.Charge), refusal.Charge != nil)
	put("discrepancies", refusal.Discrepancies, len(refusal.Discrepancies) > 0)
	put("suggested_agent_id", refusal.Details["suggested_agent_id"], refusal.Details["suggested_agent_id"] != nil)
	for _, name := range insteads {
		put(name, refusal.Details[name], len(instead(refusal, name)) > 0)
	}
	put("request_id", refusal.RequestID, refusal.RequestID != "")
	return data
}

func chargeData(c *agent.Charge) map[string]string {
	if c == nil {
		return nil
	}
	return map[string]string{"amount": c.Decimal(), "currency": c.Currency, "id": c.ExecutionID, "state": c.State}
}
