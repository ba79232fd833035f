package agentcmd

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/receipts"
	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/privatefile"
)

func agentReceiptsCommand(s *agentSettings) *cobra.Command {
	c := &cobra.Command{
		Use: "receipts", Short: "List, verify, reconcile and export the receipts of charged calls",
		Long: `A service signs a receipt for each charged call: the caller, the intent, the policy, the amount, and
the digests of the request and of the output. uimgate agent execute and uimgate mcp check each receipt and
keep it below the directory of agreements, in receipts/.

The receipts of one account form a chain, so that a service cannot change, remove or insert an entry
without contradicting a receipt that the agent has.`,
		Example: `  uimgate agent receipts list
  uimgate agent receipts verify
  uimgate agent receipts reconcile shop.example --month 2026-11
  uimgate agent receipts export shop.jsonl.gz --service shop.example`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(receiptsListCommand(s), receiptsVerifyCommand(s), receiptsReconcileCommand(s), receiptsExportCommand(s))
	return c
}

// receiptsDir returns the directory of the receipts.
func (s *agentSettings) receiptsDir() (string, error) {
	dir, err := s.stateDir()
	return filepath.Join(dir, "receipts"), err
}

// books returns the books of the services that target names, or all books if target is empty.
func (s *agentSettings) books(c *cobra.Command, target string) ([]*receipts.Book, error) {
	dir, err := s.receiptsDir()
	if err != nil {
		return nil, err
	}
	list, err := receipts.Books(dir, bindings.Forms()...)
	if err != nil {
		return nil, err
	}
	if target == "" {
		if len(list) == 0 {
			return nil, errors.New("the agent has no receipts: none of its calls was charged")
		}
		return list, nil
	}
	client, err := s.client(true)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	sessions, err := s.sessions(c, client)
	if err != nil {
		return nil, err
	}
	var fits []*receipts.Book
	for _, session := range sessions {
		if session.Matches(target) {
			fits = append(fits, receipts.Open(filepath.Join(dir, session.BookName()), bindings.Forms()...))
		}
	}
	if len(fits) == 0 {
		return nil, fmt.Errorf("the agent has no agreement with %s; without a service, the command uses all receipts", printable(target))
	}
	return fits, nil
}

// first returns the first argument, or an empty string.
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// month returns the period in the flag --month, which may be empty.
func month(text string) (receipts.Period, error) {
	if text == "" {
		return receipts.Period{}, nil
	}
	p, err := receipts.Month(text)
	if err != nil {
		return p, cli.Usage(fmt.Errorf("--month: %w", err))
	}
	return p, nil
}

func receiptsListCommand(s *agentSettings) *cobra.Command {
	var of string
	c := &cobra.Command{
		Use: "list [SERVICE]", Short: "List the charged calls with their receipts",
		Long: `List prints the charged calls, the oldest first, with the number of the receipt in the chain of the
account, and the problems that were found during the call. It does not verify the receipts.`,
		Example: `  uimgate agent receipts list
  uimgate agent receipts list shop.example --month 2026-11 -o json`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: s.run(func(c *cobra.Command, args []string) error {
			period, err := month(of)
			if err != nil {
				return err
			}
			books, err := s.books(c, first(args))
			if err != nil {
				return err
			}
			lines := []receipts.Line{}
			for _, book := range books {
				more, err := book.Lines(period)
				if err != nil {
					return err
				}
				lines = append(lines, more...)
			}
			return s.printData(c, lines, func(w io.Writer) error { return receiptTable(w, lines) })
		}),
	}
	c.Flags().StringVar(&of, "month", "", "only calls of this month of the UTC calendar, such as 2026-11")
	return c
}

func receiptTable(w io.Writer, lines []receipts.Line) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprint(t, "AT\tEXECUTION\tINTENT\tAMOUNT\tSTATE\tRECEIPT\tPROBLEMS\n")
	for _, line := range lines {
		number := "none"
		if line.K != nil {
			number = strconv.FormatInt(*line.K, 10)
		}
		names := make([]string, 0, len(line.Problems))
		for _, p := range line.Problems {
			names = append(names, string(p.Name))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", line.At.UTC().Format(time.RFC3339), printable(line.Execution), printable(line.Intent),
			line.Amount, line.State, number, strings.Join(names, " "))
	}
	return t.Flush()
}

// A bookReport is the report about one book, as -o json prints it.
type bookReport struct {
	Book string `json:"book"`
	receipts.Report
}

// printReports prints reports. It returns cli.ErrSilent if one of them contains a problem.
func (s *agentSettings) printReports(c *cobra.Command, reports []bookReport) error {
	ok := true
	for _, r := range reports {
		ok = ok && r.OK
	}
	if err := s.printData(c, map[string]any{"ok": ok, "books": reports}, func(w io.Writer) error {
		for _, r := range reports {
			writeReport(w, r)
		}
		return nil
	}); err != nil {
		return err
	}
	if !ok {
		return cli.ErrSilent
	}
	return nil
}

func writeReport(w io.Writer, r bookReport) {
	fmt.Fprintf(w, "%s: calls %d, receipts %d\n", printable(r.Book), r.Calls, r.Receipts)
	for _, a := range r.Accounts {
		fmt.Fprintf(w, "  %s: entries %d to %d", a.Currency, a.From, a.To)
		switch {
		case a.Missing > 0:
			fmt.Fprintf(w, ", %d of them missing", a.Missing)
		case a.Captured != nil:
			fmt.Fprintf(w, "; topped up %s, held %s, captured %s", a.ToppedUp, a.Held, a.Captured)
		}
		fmt.Fprintln(w)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(w, "  %s\n", printable(p.String()))
	}
	if r.Unproven > 0 {
		fmt.Fprintf(w, "  %d receipts have not been checked against the log yet: run the command again\n", r.Unproven)
	}
	if r.More > 0 {
		fmt.Fprintf(w, "  and %d more problems\n", r.More)
	}
	if r.OK {
		fmt.Fprintln(w, "  no problem was found")
	}
}

func receiptsVerifyCommand(s *agentSettings) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "verify [SERVICE]", Short: "Verify the receipts offline",
		Long: `Verify checks the stored receipts without a connection: each signature with the keys that the agent trusts,
each receipt against the call, and the chain of each account as far as the agent has it. The exit code is 1
if a problem is found. Missing entries are not a problem: reconcile fetches them.`,
		Example: `  uimgate agent receipts verify
  uimgate agent receipts verify shop.example -o json
  uimgate agent receipts verify --file copy.jsonl`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: s.run(func(c *cobra.Command, args []string) error {
			books := []*receipts.Book{receipts.Open(file)}
			if file == "" {
				var err error
				if books, err = s.books(c, first(args)); err != nil {
					return err
				}
			}
			var reports []bookReport
			for _, book := range books {
				report, err := book.Verify()
				if err != nil {
					return err
				}
				reports = append(reports, bookReport{filepath.Base(book.Path()), report})
			}
			return s.printReports(c, reports)
		}),
	}
	c.Flags().StringVar(&file, "file", "", "a file of receipts, instead of those of this agent")
	return c
}

func receiptsReconcileCommand(s *agentSettings) *cobra.Command {
	var of string
	c := &cobra.Command{
		Use: "reconcile [SERVICE]", Short: "Compare the receipts with the books of the service",
		Long: `Reconcile fetches the entries of the agent's accounts from the service and stores them with the receipts. It
then verifies the whole chain, and compares the calls of the month with it. If the service has a log, it
verifies the log and looks for the entries in it. It names each problem, such as

  CHARGED_WITHOUT_RECEIPT  a call was charged, and neither a receipt nor the books show it
  UNKNOWN_EXECUTION        the books have a charge for a call that the agent did not make
  AMOUNT, STATE            the charge differs from the one that the service stated
  REQUEST, ANSWER, POLICY  the entry is for another request, output or policy
  GAP                      entries of the chain are missing
  FORK                     two entries contradict each other: the service changed its books
  RECEIPT_NOT_LOGGED       the log of the service lacks a receipt

All programs that use the key of the agent must keep their receipts in the directory of agreements: reconcile
reports the charged calls of any other program as UNKNOWN_EXECUTION.
The exit code is 1 if a problem is found.`,
		Example: `  uimgate agent receipts reconcile --month 2026-11
  uimgate agent receipts reconcile shop.example -o json`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: s.run(func(c *cobra.Command, args []string) error {
			period, err := month(of)
			if err != nil {
				return err
			}
			return s.onService(c, first(args), "", func(service *agent.Service) error {
				before := service.Session()
				book := service.Book()
				report, err := service.Reconcile(c.Context(), period)
				if err := s.saveChanged(service, before, err); err != nil {
					return err
				}
				return s.printReports(c, []bookReport{{filepath.Base(book.Path()), report}})
			})
		}),
	}
	c.Flags().StringVar(&of, "month", "", "only calls of this month of the UTC calendar, such as 2026-11")
	return c
}

func receiptsExportCommand(s *agentSettings) *cobra.Command {
	var of, target string
	c := &cobra.Command{
		Use: "export FILE", Short: "Export the receipts as a bundle of evidence",
		Long: `Export writes what the agent has about one service as a bundle of evidence, compressed with gzip. The bundle
consists of JSON lines with the keys of the service, the agreements and policies, the entries that the service
signed, and the proofs that they are in the log. Run reconcile first: it fetches entries and proofs that the agent
lacks. The bundle has the same format as those that uimgate usage bundle writes, but lacks what only the service
has: proofs of key and decisions.`,
		Example: `  uimgate agent receipts export receipts.jsonl.gz
  uimgate agent receipts export november.jsonl.gz --service shop.example --month 2026-11`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: s.run(func(c *cobra.Command, args []string) error {
			period, err := month(of)
			if err != nil {
				return err
			}
			return s.onService(c, target, "", func(service *agent.Service) error { return exportReceipts(args[0], service, period) })
		}),
	}
	c.Flags().StringVar(&of, "month", "", "only entries of this month of the UTC calendar, such as 2026-11")
	c.Flags().StringVar(&target, "service", "", "the service, if there are agreements with several")
	return c
}

// exportReceipts writes a bundle to the file at path, as privatefile.Stream does.
func exportReceipts(path string, service *agent.Service, p receipts.Period) error {
	session := service.Session()
	bundle := receipts.Bundle{Issuer: session.Issuer, Agent: session.AgentID, Period: p, Now: time.Now()}
	if len(session.Document) > 0 {
		bundle.Policies = []receipts.Policy{{UID: session.PolicyUID, Digest: session.PolicyDigest, Document: session.Document}}
	}
	err := privatefile.Stream(path, func(w io.Writer) error { return service.Book().Export(w, bundle) })
	if errors.Is(err, evidence.ErrBundleTooLarge) {
		return fmt.Errorf("%w: export the receipts of single months with --month", err)
	}
	return err
}

// printProblems prints the problems of a receipt on stderr.
func printProblems(c *cobra.Command, list []evidence.Problem) {
	for _, p := range list {
		fmt.Fprintf(c.ErrOrStderr(), "receipt: %s\n", printable(p.String()))
	}
}
