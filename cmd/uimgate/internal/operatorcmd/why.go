package operatorcmd

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/operation"
)

var whyColumns = cli.Fields[calls.Why]("at process service agent intent decision reason rule outcome execution")

// Why returns the command uimgate why.
func Why() *cobra.Command {
	o := &operator{}
	var again decideFlags
	c := &cobra.Command{
		Use: "why REQUEST_ID", Short: "Explain why a request was permitted or refused",
		Long: `Why explains how the gateway decided a request, by the request_id that an agent quotes. It shows the steps, the
rule, the values that the policy required and found, limits, the charge, the outcome, and the status of your
API. It finds requests that any process with the same database handled, for as long as audit.index keeps
them. It shows no parameter values and no secrets.

A client can choose the id of a request, so there may be several requests with one id. Why shows the
newest 20.

With --again, --policy, --policy-digest, --fact or --at, why decides the newest call with the id again, and
compares each constraint with the facts. It decides by the policy alone: not by limits, credit, stops and the
rules of the configuration. Nothing is changed.`,
		Example: `  uimgate why 0e8a1c3e-6b8f-4a38-9f5e-0f6c7a1f2b3c
  uimgate why 0e8a1c3e-6b8f-4a38-9f5e-0f6c7a1f2b3c --again --fact purpose=research
  uimgate why 0e8a1c3e-6b8f-4a38-9f5e-0f6c7a1f2b3c --policy draft.json -o json`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if again.wanted() {
				return o.decide(c, args[0], &again)
			}
			page, err := call(c, o, operation.Why, calls.RequestRecord{ID: args[0]})
			if err != nil {
				return err
			}
			return cli.Print(c, o.format, page, page.Items, whyColumns, func(out io.Writer) error {
				for i := range page.Items {
					if i > 0 {
						fmt.Fprintln(out)
					}
					if err := printWhy(out, &page.Items[i]); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	o.flags(c)
	again.add(c)
	return c
}

// printWhy prints an explanation for people. It omits unknown values.
func printWhy(out io.Writer, w *calls.Why) error {
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	row := func(name string, values ...string) {
		if text := strings.Join(slices.DeleteFunc(values, func(v string) bool { return v == "" }), ", "); text != "" {
			fmt.Fprintf(t, "%s\t%s\n", name, cli.Sanitize(text))
		}
	}
	door := w.Door
	if door != "" {
		door = "by " + door
	}
	row("request", w.RequestID, w.Request, door)
	row("time", cli.HumanTime(w.At), "process "+w.Process)
	row("service", w.Service)
	row("agent", w.Agent)
	row("intent", w.Intent)
	row("agreement", w.Agreement)
	row("policy", w.Digest)
	row("decision", whyDecision(w))
	row("rule", w.Rule)
	for _, wanted := range w.Wanted {
		row("wanted", wanted)
	}
	for _, operand := range slices.Sorted(maps.Keys(w.Found)) {
		row("found", operand+" = "+whyFact(w.Found[operand]))
	}
	for _, operand := range w.FromParameters {
		row("found", operand+" = a value from the parameters, which is not recorded")
	}
	if w.Shortened {
		row("found", "facts that were too long to record")
	}
	for _, l := range w.Limits {
		row("limit", l.Limit, fmt.Sprintf("%d left", l.Left), whySeconds("resets in ", l.Resets))
	}
	row("duties", w.Duties...)
	row("charge", whyCharge(w)...)
	row("outcome", whyOutcome(w)...)
	row("steps", whySteps(w))
	return t.Flush()
}

func whyDecision(w *calls.Why) string {
	text := w.Decision
	if w.Replayed {
		text += " (the response is that of an earlier call under the same idempotency key)"
	}
	if w.Reason == "" {
		return text
	}
	text += " " + string(w.Reason) + ", status " + strconv.Itoa(w.Status)
	if w.Cause != "" {
		text += ", shed for " + string(w.Cause)
	}
	text += ": " + w.Message
	if w.RetryAfter > 0 {
		text += whySeconds(" Retry after ", w.RetryAfter) + "."
	}
	return text
}

// whyFact returns the JSON of a fact, which quotes strings.
func whyFact(fact any) string {
	text, err := json.Marshal(fact)
	if err != nil {
		return "?"
	}
	return string(text)
}

func whySeconds(before string, n int64) string {
	if n <= 0 {
		return ""
	}
	return before + (time.Duration(n) * time.Second).String()
}

// whyCharge describes the state of the charge at the end of the call and, if it differs, the present state.
func whyCharge(w *calls.Why) []string {
	if w.Charge == "" {
		return nil
	}
	now := ""
	if w.Execution != nil && string(w.Execution.State) != w.ChargeState {
		now = "now " + string(w.Execution.State)
	}
	return []string{w.Charge + " " + w.ChargeState, now, "execution " + w.ExecutionID}
}

func whyOutcome(w *calls.Why) (list []string) {
	if w.Outcome != "" {
		list = append(list, w.Outcome)
	}
	if w.UpstreamStatus != 0 {
		list = append(list, fmt.Sprintf("your API responded with status %d in %g ms", w.UpstreamStatus, w.UpstreamMillis))
	} else if w.UpstreamMillis > 0 {
		list = append(list, fmt.Sprintf("no response of your API within %g ms", w.UpstreamMillis))
	}
	return list
}

func whySteps(w *calls.Why) string {
	steps := make([]string, len(w.Steps))
	for i, s := range w.Steps {
		steps[i] = fmt.Sprintf("%s %g ms", s.Name, s.Millis)
	}
	return strings.Join(steps, " → ")
}
