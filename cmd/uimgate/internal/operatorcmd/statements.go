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
	AgentID         pat.AgentID `json:"agent_id"`
	Currency        string      `json:"currency"`
	From            time.Time   `json:"from"`
	To              time.Time   `json:"to"`
	Line            string      `json:"line"` // opening, top-up, reversal, charges, closing or total
	Intent          string      `json:"intent"`
	Rule            string      `json:"rule"`
	ToppedUp        string      `json:"topped_up"`
	HeldCalls       string      `json:"held_calls"` // numbers of calls are empty if the row is not about charges
	Held            string      `json:"held"`
	CapturedCalls   string      `json:"captured_calls"`
	Captured        string      `json:"captured"`
	ReleasedCalls   string      `json:"released_calls"`
	Released        string      `json:"released"`
	UnresolvedCalls string      `json:"unresolved_calls"`
	Unresolved      string      `json:"unresolved"`
	Balance         string      `json:"balance"`
	AgentName       string      `json:"agent_name"`
}

func rowsOf(s billing.Statement) []statementRow {
	row := func(line string) statementRow {
		return statementRow{AgentID: s.AgentID, AgentName: s.Name, Currency: s.Currency, From: s.From, To: s.To, Line: line}
	}
	stood := func(line string, p billing.Position) statementRow {
		r := row(line)
		r.ToppedUp, r.Held, r.Captured, r.Unresolved, r.Balance = p.ToppedUp, p.Held, p.Captured, p.Unresolved, p.Balance
		return r
	}
	out := []statementRow{stood("opening", s.Opening)}
	if s.ToppedUp != "0.00" {
		r := row("top-up")
		r.ToppedUp = s.ToppedUp
		out = append(out, r)
	}
	if s.Reversed != "0.00" {
		r := row("reversal")
		r.ToppedUp = "-" + s.Reversed
		out = append(out, r)
	}
	for _, l := range s.Lines {
		r := row("charges")
		r.Intent, r.Rule = l.Intent, l.Rule
		r.Held, r.Captured, r.Released, r.Unresolved = l.Held.Amount, l.Captured.Amount, l.Released.Amount, l.Unresolved.Amount
		r.HeldCalls, r.CapturedCalls = strconv.FormatInt(l.Held.Calls, 10), strconv.FormatInt(l.Captured.Calls, 10)
		r.ReleasedCalls, r.UnresolvedCalls = strconv.FormatInt(l.Released.Calls, 10), strconv.FormatInt(l.Unresolved.Calls, 10)
		out = append(out, r)
	}
	return append(out, stood("closing", s.Closing))
}

// totalRows returns rows with the sums over the printed accounts, by currency: the changes in the period, and the balances.
func totalRows(totals []billing.StatementTotal) []statementRow {
	var out []statementRow
	for _, t := range totals {
		out = append(out, statementRow{
			Currency: t.Currency, Line: "total", ToppedUp: t.ToppedUp, Held: t.Held.Amount, Captured: t.Captured.Amount,
			Released: t.Released.Amount, Unresolved: t.Unresolved.Amount, Balance: t.Closing.Balance,
		})
		if t.Reversed != "0.00" {
			out = append(out, statementRow{Currency: t.Currency, Line: "total reversal", ToppedUp: "-" + t.Reversed})
		}
	}
	return out
}

var statementColumns = cli.Fields[statementRow](`agent_id currency from* to* line intent rule* topped_up held_calls* held captured_calls*
	captured released_calls* released unresolved_calls* unresolved balance agent_name`)

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
