package agentcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/bridge"
	"github.com/uimgate/uimgate/agent/bridge/hostconfig"
	"github.com/uimgate/uimgate/agent/budget"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/policycmd"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/toolset"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/privatefile"
	"github.com/uimgate/uimgate/internal/quote"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// bridgeSettings are the flags of uimgate mcp.
type bridgeSettings struct {
	agentSettings
	accept, budgets []string
	host, listen    string
	tools, plan     string
	payWith         string
	confirms        []string // --confirm-above
}

// Bridge returns the command uimgate mcp.
func Bridge() *cobra.Command {
	s := &bridgeSettings{}
	c := &cobra.Command{
		Use: "mcp SERVICE...", Short: "Give an assistant the tools of UIM services: an MCP server on stdin and stdout",
		Long: `Mcp is an MCP server that an assistant (Claude Desktop, an IDE, an agent framework) starts. Name the
services by URL, origin or domain. The assistant gets a tool for each of their intents or, if there are more
than 40, three tools that search, describe and call them. Mcp agrees to the terms of a service only if you
have accepted them, with --agree or uimgate agent agree. Until then, each tool returns the terms and the
command to run. Without --budget it spends nothing, and with --budget never more than that in an hour, day
or month (UTC). All processes of uimgate mcp with the same directory share one budget.

With --confirm-above "1 EUR", it asks you about each call that may cost more, or whose price is not known. It asks on
a page of this machine, which the assistant opens if it can. The page requires the code of uimgate agent confirm-code.

--print-config prints the settings for an assistant. The key, the agreements and the record of spending are
stored where uimgate agent stores its files, or in --data.

--listen is for clients that cannot start a process: it serves streamable HTTP on a loopback address of this
machine, and prints the URL. Every program on this machine can then use the tools and spend the budget.`,
		Example: `  uimgate mcp shop.example --print-config claude
  uimgate mcp shop.example --agree sha-256:Jx1… --budget "5 EUR/day"
  uimgate mcp shop.example --listen 127.0.0.1:8765`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			limits, err := s.limits()
			if err != nil {
				return cli.Usage(err)
			}
			if err := s.check(); err != nil {
				return cli.Usage(err)
			}
			if s.host != "" {
				return s.printConfig(c, args)
			}
			return s.serve(c, args, limits)
		},
	}
	f := c.Flags()
	f.StringVar(&s.data, "data", "", "directory of key, agreements and record of spending (default: those of uimgate agent)")
	f.StringArrayVar(&s.accept, "agree", nil, "digest of a policy that you have read and accept (repeat for several services)")
	f.StringArrayVar(&s.budgets, "budget", nil, `maximum spending per hour, day or month, such as "5 EUR/day" (repeat for several)`)
	f.StringArrayVar(&s.confirms, "confirm-above", nil,
		`ask you about calls that may cost more than this amount, such as "1 EUR" (repeat for several currencies)`)
	f.StringVar(&s.payWith, "pay-with", "",
		"command that signs x402 payments, within --budget: it reads the terms (JSON) from stdin, and writes the payment (JSON) to stdout")
	f.StringVar(&s.plan, "plan", "", "plan to choose when agreeing, with --agree, to a policy that has plans")
	f.StringVar(&s.host, "print-config", "", "print the settings for this assistant and exit: "+strings.Join(hostconfig.Names(), ", "))
	f.StringVar(&s.tools, "tools", "",
		"tools in the list: all, search, or tag:orders,tag:invoices (default: all, or search if there are more than 40 intents)")
	f.StringVar(&s.listen, "listen", "", "serve over HTTP on this loopback address, such as 127.0.0.1:8765, instead of stdin and stdout")
	f.StringVar(&s.id, "agent-id", os.Getenv("UIMGATE_AGENT_ID"), "agent id ($UIMGATE_AGENT_ID; default derived from the key)")
	f.StringVar(&s.dns, "dns", "", "DNS server for finding the service of a domain (default those of /etc/resolv.conf)")
	f.BoolVar(&s.insecure, "insecure", false, "allow http and private addresses (loopback addresses are always allowed)")
	f.DurationVar(&s.timeout, "timeout", 0,
		"time limit for a request and its response (default 30s, or as long as the intent states in x-timeout)")
	return c
}

func (s *bridgeSettings) limits() ([]budget.Limit, error) {
	var limits []budget.Limit
	for _, text := range s.budgets {
		l, err := budget.ParseLimit(text)
		if err != nil {
			return nil, fmt.Errorf("--budget: %w", err)
		}
		limits = append(limits, l)
	}
	return limits, nil
}

// check returns an error if a flag or a combination of flags is invalid.
func (s *bridgeSettings) check() error {
	for _, digest := range s.accept {
		if !agent.IsDigest(digest) {
			return fmt.Errorf("--agree %.60q: want the digest of a policy, such as sha-256:…; uimgate agent policy prints it", digest)
		}
	}
	if _, err := toolset.ParseChoice(s.tools); err != nil {
		return fmt.Errorf("--tools %.60q: %w", s.tools, err)
	}
	if _, err := s.confirmAbove(); err != nil {
		return err
	}
	if s.payWith != "" && len(s.budgets) == 0 {
		return errors.New("--pay-with requires --budget")
	}
	if s.listen != "" {
		if _, err := bridge.ListenAddress(s.listen); err != nil {
			return fmt.Errorf("--listen %.60q: %w", s.listen, err)
		}
		if s.host != "" {
			return errors.New("--print-config and --listen cannot be combined: the settings are for assistants that start this command themselves")
		}
	}
	if _, ok := hostconfig.Of(s.host); s.host != "" && !ok {
		return fmt.Errorf("--print-config %.40q: want %s", s.host, strings.Join(hostconfig.Names(), ", "))
	}
	return nil
}

// serve runs the bridge until the client closes stdin or the context of c ends. Without --listen, stdout is only for MCP messages.
func (s *bridgeSettings) serve(c *cobra.Command, services []string, limits []budget.Limit) error {
	logged := &ownerLog{w: c.ErrOrStderr()}
	if err := s.ensureKey(c.Context()); err != nil {
		return err
	}
	o, err := s.options(true)
	if err != nil {
		return err
	}
	agreements, err := s.stateDir()
	if err != nil {
		return err
	}
	spent, err := s.statePath("spent.json")
	if err != nil {
		return err
	}
	calls, err := s.statePath("calls.json")
	if err != nil {
		return err
	}
	tools, err := toolset.ParseChoice(s.tools)
	if err != nil {
		return cli.Usage(err)
	}
	book := budget.New(spent, limits, time.Now)
	if s.payWith != "" {
		o.Pay = payWithin(book, payWith(s.payWith, c.ErrOrStderr()))
	}
	above, err := s.confirmAbove()
	if err != nil {
		return cli.Usage(err)
	}
	pages, err := s.pages()
	if err != nil {
		return err
	}
	b, err := bridge.Open(c.Context(), bridge.Options{
		Agent: o, Services: services, Tools: tools, Agreements: agreements, Accept: s.accept, Plan: s.plan, Budget: book,
		Outbox: calls, Confirm: pages, ConfirmAbove: above,
		ReadTerms: termsFor(c, o), Compare: comparerFor(c), AgreeCommand: s.agreeCommand, NextCommand: s.nextCommand,
		Version: cli.ReadVersion().Version, Log: logged.line,
	})
	if errors.Is(err, agent.ErrTarget) || errors.Is(err, agent.ErrOptions) {
		return cli.Usage(err)
	}
	if err != nil {
		return err
	}
	if s.listen == "" {
		return b.Serve(c.Context(), c.InOrStdin(), c.OutOrStdout())
	}
	l, err := (&net.ListenConfig{}).Listen(c.Context(), "tcp", s.listen)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.OutOrStdout(), "http://%s%s\n", l.Addr(), bridge.Path); err != nil {
		return err
	}
	return b.ServeHTTP(c.Context(), l)
}

// ensureKey creates the agent's key if there is none. Bridges that start at the same time create only one key.
func (s *bridgeSettings) ensureKey(ctx context.Context) error {
	path, err := s.keyPath()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, fetch.DefaultTimeout)
	defer cancel()
	unlock, err := privatefile.Lock(ctx, path+".lock")
	if err != nil {
		return fmt.Errorf("creating the agent's key: %w", err)
	}
	defer unlock()
	if _, err := agent.LoadKey(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	key, err := agent.NewKey(keys.EdDSA)
	if err != nil {
		return err
	}
	return agent.SaveKey(path, key)
}

// statePath returns the path of a file with state of the bridge. The file is next to the directory of agreements.
func (s *bridgeSettings) statePath(name string) (string, error) {
	if s.data != "" {
		return filepath.Join(s.data, name), nil
	}
	return cli.ConfigPath("XDG_STATE_HOME", filepath.Join(".local", "state"), name)
}

// agreeCommand returns the shell command with which the owner agrees. It quotes the arguments, because the service chooses the issuer.
func (s *bridgeSettings) agreeCommand(service, digest, issuer string) string {
	command := []string{self(), "agent", "agree", service, "--digest", digest}
	if issuer != "" {
		command = append(command, "--issuer", issuer)
	}
	return s.withPlan(command, s.plan)
}

// nextCommand returns the shell command with which the owner agrees to the policy that a service has announced for a later date, with the
// plan of the present agreement.
func (s *bridgeSettings) nextCommand(service, plan string) string {
	return s.withPlan([]string{self(), "agent", "agree", service, "--next"}, cmp.Or(s.plan, plan))
}

// withPlan returns a command with a plan, unless it is empty, and with the flags that uimgate agent has too, as a line for a shell.
func (s *bridgeSettings) withPlan(command []string, plan string) string {
	if plan != "" {
		command = append(command, "--plan", plan)
	}
	return quoted(append(command, s.shared()...))
}

// shared returns those of the given flags that uimgate agent also has, with the same meaning.
func (s *bridgeSettings) shared() []string {
	var args []string
	for _, flag := range []struct{ name, value string }{{"--data", absolute(s.data)}, {"--agent-id", s.id}, {"--dns", s.dns}} {
		if flag.value != "" {
			args = append(args, flag.name, flag.value)
		}
	}
	if s.insecure {
		args = append(args, "--insecure")
	}
	return args
}

// printConfig prints the settings with which a host starts this command with the same flags.
func (s *bridgeSettings) printConfig(c *cobra.Command, services []string) error {
	args := append([]string{"mcp"}, services...)
	for _, digest := range s.accept {
		args = append(args, "--agree", digest)
	}
	for _, text := range s.budgets {
		args = append(args, "--budget", text)
	}
	for _, text := range s.confirms {
		args = append(args, "--confirm-above", text)
	}
	if s.payWith != "" {
		args = append(args, "--pay-with", s.payWith)
	}
	if s.tools != "" {
		args = append(args, "--tools", s.tools)
	}
	if s.plan != "" {
		args = append(args, "--plan", s.plan)
	}
	args = append(args, s.shared()...)
	if c.Flags().Changed("timeout") {
		args = append(args, "--timeout", s.timeout.String())
	}
	host, _ := hostconfig.Of(s.host)
	settings, err := host.Settings(hostconfig.Server{Name: serverName(services), Command: self(), Args: args})
	if err != nil {
		return err
	}
	fmt.Fprintf(c.ErrOrStderr(), "%s: add these settings to %s\n", host.Title, host.File)
	_, err = c.OutOrStdout().Write(settings)
	return err
}

// serverName returns the name of the MCP server: the host of its service, with hyphens for all characters except ASCII letters and digits.
// If there are several services, the name is uim.
func serverName(services []string) string {
	if len(services) > 1 {
		return "uim"
	}
	_, rest, ok := strings.Cut(services[0], "://")
	if !ok {
		rest = services[0]
	}
	host, _, _ := strings.Cut(rest, "/")
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, host), "-")
}

// self returns the absolute path of this program, or its name if the path is unknown.
func self() string {
	if path, err := exec.LookPath(os.Args[0]); err == nil { // links are kept: a package manager moves their targets
		return absolute(path)
	}
	path, err := os.Executable()
	if err != nil {
		return "uimgate"
	}
	return path
}

func absolute(path string) string {
	if path == "" {
		return ""
	}
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// quoted joins arguments to a command line for a POSIX shell, and quotes those that need quotes.
func quoted(args []string) string {
	out := make([]string, 0, len(args))
	for _, arg := range args {
		if strings.Trim(arg, "-_./:0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || arg == "" {
			arg = cli.ShellQuote(arg)
		}
		out = append(out, arg)
	}
	return strings.Join(out, " ")
}

// termsFor returns a reader that explains policies as policy explain does, and determines the cost of a call to each intent.
func termsFor(c *cobra.Command, o agent.Options) bridge.TermsReader {
	key, err := keys.New(o.Key.Public())
	return func(ctx context.Context, policy agent.Policy, catalog *intents.Catalog) bridge.Terms {
		var output strings.Builder
		terms := bridge.Terms{Intents: map[string]bridge.CallTerm{}}
		//nolint:contextcheck // cobra carries the context
		if known, tellErr := policycmd.Terms(c, &output, io.Discard, policy.Raw, catalog); known && tellErr == nil {
			terms.Words = output.String()
		}
		if err != nil {
			return terms
		}
		for uid, q := range quote.Of(ctx, policy.Raw, catalog, quote.Agent{ID: pat.AgentID(o.AgentID), Key: key}, time.Now()) {
			terms.Intents[uid] = bridge.CallTerm(q)
		}
		return terms
	}
}

// comparerFor returns a comparer that describes changes as policy diff does.
func comparerFor(c *cobra.Command) bridge.PolicyComparer {
	return func(ctx context.Context, agreed, offered []byte, catalog *intents.Catalog) (bridge.Difference, bool) {
		d, known := quote.Compare(ctx, agreed, offered, catalog)
		if !known {
			return bridge.Difference{}, false
		}
		var words strings.Builder
		//nolint:contextcheck // cobra carries the context
		known, err := policycmd.Changes(c, &words, agreed, offered)
		return bridge.Difference{Same: d.Same, Words: words.String()}, known && err == nil
	}
}

// An ownerLog writes lines for the owner. It is safe for concurrent use.
type ownerLog struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *ownerLog) line(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.w, "uimgate mcp:", printable(text))
}
