package operatorcmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/status"
	"github.com/uimgate/uimgate/internal/money"
)

// printHeldLimits prints which limits are held back because of a restore or a step of the clock, and until when.
func printHeldLimits(out io.Writer, held *status.HeldLimits) {
	if held == nil {
		return
	}
	if r := held.Restored; r != nil {
		fmt.Fprintf(out, "Limits held back for agents of the backup, after the restore of %s: %s.\n", cli.HumanTime(r.At),
			periodsOf(r.Periods, r.Allowance))
	}
	if s := held.Clock; s != nil {
		fmt.Fprintf(out, "Stricter limits for all agents, after the clock of the database moved by %s at %s: %s.\n", cli.Sanitize(s.By),
			cli.HumanTime(s.At), periodsOf(s.Periods, 0))
	}
}

// periodsOf lists periods with the time until which their limits are held back. For calendar periods, only the allowance is held back.
func periodsOf(list []status.LimitPeriod, allowance int64) string {
	texts := make([]string, 0, len(list))
	for _, p := range list {
		text := "per " + string(p.Period) + " until " + cli.HumanTime(p.Until)
		if p.Period.Calendar() {
			text = fmt.Sprintf("%d%% of each limit %s", allowance, text)
		}
		texts = append(texts, text)
	}
	return cli.Sanitize(strings.Join(texts, ", "))
}

// printNewcomers prints the credit that unapproved agents share, and the agents that have used most of it.
func printNewcomers(out io.Writer, s status.ServiceStatus) {
	n := s.Newcomers
	if n == nil || len(n.Users) == 0 {
		return
	}
	users := make([]string, 0, len(n.Users))
	for _, u := range n.Users {
		users = append(users, fmt.Sprintf("%s owes %s", u.AgentID, u.Owed))
	}
	if n.Exhausted() {
		fmt.Fprintf(out, "Credit of unapproved agents at %s is used up: their calls that cost money are refused with NEWCOMERS_EXHAUSTED. "+
			"Approve agents with uimgate agents approve, or raise billing.credit.\n", cli.Sanitize(s.ID))
	}
	fmt.Fprintf(out, "Credit of unapproved agents at %s: %s of %s is left; together they owe %s. Most: %s. See: uimgate usage accounts\n",
		cli.Sanitize(s.ID), cli.Sanitize(inMinorUnits(n.Left)), cli.Sanitize(n.Credit), cli.Sanitize(n.Owed),
		cli.Sanitize(strings.Join(users, ", ")))
}

// inMinorUnits rounds an amount down to whole minor units, such as cents, unless nothing would be left of it. It returns other text
// unchanged.
func inMinorUnits(text string) string {
	exact, err := money.Parse(text)
	if err != nil {
		return text
	}
	if rounded := exact.RoundDown(); !rounded.IsZero() {
		return rounded.String()
	}
	return text
}

// printUnread prints the figures of a service that could not be read from the store.
func printUnread(out io.Writer, s status.ServiceStatus) {
	if len(s.Unread) > 0 {
		fmt.Fprintf(out, "Cannot be read from the store, for %s: %s. See the log of the gateway.\n", cli.Sanitize(s.ID),
			cli.Sanitize(strings.Join(s.Unread, ", ")))
	}
}
