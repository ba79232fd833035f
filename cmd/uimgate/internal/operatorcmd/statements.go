package operatorcmd

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/pat"
)

// A statementRow is one line of a statement in tables and CSV. The opening and closing rows have the balance of the account; the rows
// in between have the changes in the period.
type statementRow struct {
	agentID                        pat.AgentID
	currency                       string
	from, to                       time.Time
	line                           string // opening, top-up, reversal, charges, closing or total
	name                           string // the name of the agent
	intent, rule                   string
	toppedUp                       string
	held, captured                 string
	released, unresolved           string
	balance                        string
	heldCalls, capturedCalls       int64
	releasedCalls, unresolvedCalls int64
}

func rowsOf(s billing.Statement) []statementRow {
	row := func(line string) statementRow {
		return statementRow{agentID: s.AgentID, name: s.Name, currency: s.Currency, from: s.From, to: s.To, line: line}
	}
	stood := func(line string, p billing.Position) statementRow {
		r := row(line)
		r.toppedUp, r.held, r.captured, r.unresolved, r.balance = p.ToppedUp, p.Held, p.Captured, p.Unresolved, p.Balance
		return r
	}
	out := []statementRow{stood("opening", s.Opening)}
	if s.ToppedUp != "0.00" {
		r := row("top-up")
		r.toppedUp = s.ToppedUp
		out = append(out, r)
	}
	if s.Reversed != "0.00" {
		r := row("reversal")
		r.toppedUp = "-" + s.Reversed
		out = append(out, r)
	}
	for _, l := range s.Lines {
		r := row("charges")
		r.intent, r.rule = l.Intent, l.Rule
		r.held, r.captured, r.released, r.unresolved = l.Held.Amount, l.Captured.Amount, l.Released.Amount, l.Unresolved.Amount
		r.heldCalls, r.capturedCalls, r.releasedCalls, r.unresolvedCalls = l.Held.Calls, l.Captured.Calls, l.Released.Calls, l.Unresolved.Calls
		out = append(out, r)
	}
	return append(out, stood("closing", s.Closing))
}

// totalRows returns rows with the sums over the printed accounts, by currency: the changes in the period, and the balances.
func totalRows(totals []billing.StatementTotal) []statementRow {
	var out []statementRow
	for _, t := range totals {
		out = append(out, statementRow{
			currency: t.Currency, line: "total", toppedUp: t.ToppedUp, held: t.Held.Amount, captured: t.Captured.Amount,
			released: t.Released.Amount, unresolved: t.Unresolved.Amount, balance: t.Closing.Balance,
		})
		if t.Reversed != "0.00" {
			out = append(out, statementRow{currency: t.Currency, line: "total reversal", toppedUp: "-" + t.Reversed})
		}
	}
	return out
}

var statementColumns = []cli.Column[statementRow]{
	cli.TextColumn("agent_id", func(r statementRow) pat.AgentID { return r.agentID }),
	cli.TextColumn("currency", func(r statementRow) string { return r.currency }),
	cli.TextColumn("from", func(r statementRow) string { return cli.ExactTime(r.from) }).OnlyCSV(),
	cli.TextColumn("to", func(r statementRow) string { return cli.ExactTime(r.to) }).OnlyCSV(),
	cli.TextColumn("line", func(r statementRow) string { return r.line }),
	cli.TextColumn("intent", func(r statementRow) string { return r.intent }),
	cli.TextColumn("rule", func(r statementRow) string { return r.rule }).OnlyCSV(),
	cli.TextColumn("topped_up", func(r statementRow) string { return r.toppedUp }),
	cli.TextColumn("held_calls", func(r statementRow) string { return r.count(r.heldCalls) }).OnlyCSV(),
	cli.TextColumn("held", func(r statementRow) string { return r.held }),
	cli.TextColumn("captured_calls", func(r statementRow) string { return r.count(r.capturedCalls) }).OnlyCSV(),
	cli.TextColumn("captured", func(r statementRow) string { return r.captured }),
	cli.TextColumn("released_calls", func(r statementRow) string { return r.count(r.releasedCalls) }).OnlyCSV(),
	cli.TextColumn("released", func(r statementRow) string { return r.released }),
	cli.TextColumn("unresolved_calls", func(r statementRow) string { return r.count(r.unresolvedCalls) }).OnlyCSV(),
	cli.TextColumn("unresolved", func(r statementRow) string { return r.unresolved }),
	cli.TextColumn("balance", func(r statementRow) string { return r.balance }),
	cli.TextColumn("agent_name", func(r statementRow) string { return r.name }),
}

// count formats a number of calls. It returns "" for rows that are not about charges.
func (r statementRow) count(n int64) string {
	if r.line != "charges" {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func (o *operator) usageStatements() *cobra.Command {
	var q billing.StatementQuery
	var from, to, month string
	c := &cobra.Command{
		Use: "statements", Short: "Show what agents paid in, used and owe in a period", Args: cli.Args(cobra.NoArgs),
		Long: `Statements prints, for each account, the balance at the beginning of the period, the top-ups, the charges for each
intent under each rule, and the balance at the end. A charge counts when its state changes: it is held when the call
begins, captured or released when the call ends, and unresolved if the outcome is unknown. The balance is what was
topped up, minus what is held and captured.

Tables and JSON (totals) end with the sums over the printed accounts, by currency: the changes in the period, and the
balance.

The period is in UTC. It includes --from and excludes --to. Both accept a month, a day or a time with its zone. Without
--from, the period begins with the ledger; without --to, it ends now.`,
		Example: `  uimgate usage statements --month 2026-11 --all -o csv > november.csv
  uimgate usage statements --agent agent-1 --from 2026-11-01 --to 2026-11-08T12:00:00+01:00 -o json`,
		RunE: func(c *cobra.Command, _ []string) error {
			begins, ends, err := period(from, to, month)
			if err != nil {
				return cli.Usage(err)
			}
			q.From, q.To = begins, ends
			list := pages(o, operation.Statements, q)
			return printRows(c, o, statementColumns, list, rowsOf, func(list []billing.Statement) ([]statementRow, any) {
				totals := billing.Totals(list)
				return totalRows(totals), totals
			})
		},
	}
	agentFlag(c, &q.AgentID)
	c.Flags().StringVar(&from, "from", "", "beginning of the period, such as 2026-11, 2026-11-01 or 2026-11-01T00:00:00Z")
	c.Flags().StringVar(&to, "to", "", "end of the period, which is not part of it")
	c.Flags().StringVar(&month, "month", "", "one month in UTC, such as 2026-11, instead of --from and --to")
	return o.paging(c)
}

// period parses the flags of a period. A zero time means that the period is open at that end.
func period(from, to, month string) (begins, ends time.Time, err error) {
	if month != "" {
		if from != "" || to != "" {
			return begins, ends, errors.New("--month cannot be combined with --from or --to")
		}
		if begins, err = time.Parse("2006-01", month); err != nil {
			return begins, ends, fmt.Errorf("--month %q is not a month such as 2026-11", month)
		}
		return begins, begins.AddDate(0, 1, 0), nil
	}
	if begins, err = moment("--from", from); err != nil {
		return begins, ends, err
	}
	if ends, err = moment("--to", to); err != nil {
		return begins, ends, err
	}
	if !begins.IsZero() && !ends.IsZero() && !begins.Before(ends) {
		return begins, ends, errors.New("--to must be later than --from")
	}
	return begins, ends, nil
}

// moment parses a month or a day, and returns its beginning in UTC, or parses a time with its zone. It returns the zero time if text is
// empty.
func moment(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{"2006-01", time.DateOnly, time.RFC3339Nano} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s %q is not a time: want 2026-11, 2026-11-01 or 2026-11-01T00:00:00Z", flag, text)
}
