package operatorcmd

import (
	"fmt"
	"io"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/processes"
	"github.com/uimgate/uimgate/pat"
)

var stopColumns = cli.Fields[processes.Stop]("kind subject service at by reason applied ended_at* ended_by*")

// stoppable are the things that can be stopped, with the argument that names one.
var stoppable = []struct {
	kind              pat.StopKind
	argument, stopped string
	example           string
}{
	{pat.StopCharging, "", "charged calls; free calls continue", "charging"},
	{pat.StopConsent, "", "consents of people, and all calls under them", "consent --service shop"},
	{pat.StopAgent, "AGENT", "all calls of one agent", "agent agent-1"},
	{pat.StopIntent, "INTENT", "all calls to one intent", "intent shop.example:order:v1"},
	{pat.StopDoor, "DOOR", "all calls through one protocol, such as mcp, or http for UIM over HTTP", "door mcp"},
	{pat.StopService, "SERVICE", "all calls to one service, and new agreements with it", "service shop"},
}

// Stop returns the command uimgate stop.
func Stop() *cobra.Command {
	o := &operator{}
	var r processes.StopRequest
	commands := []*cobra.Command{o.stopList()}
	for _, s := range stoppable {
		c := o.stopCommand("Stop "+s.stopped, "  uimgate stop "+s.example, s.kind, s.argument, operation.Stop, &r)
		c.Flags().StringVar(&r.Reason, "reason", "", "why, for other operators and the audit stream; agents do not see it")
		commands = append(commands, c)
	}
	return o.group(&cobra.Command{
		Use: "stop", Short: "Make a running gateway refuse some calls at once, until you resume",
		Long: `Stop makes all processes of the gateway refuse the calls that you name, within a second. Agents receive the reason
STOPPED (503), and may try again later. The command waits up to two seconds until every process has applied the stop, and
prints how many have, and how long the slowest took. A call that has not been sent yet is not sent, and its charge is released; a call
that was sent ends as usual. Stop ends no agreement and no token: after uimgate resume, agents continue where they were.

Without --service, a stop applies to every service of the gateway. The stops are in the store, so they last across
restarts. uimgate status shows them, and the audit stream records who stopped and who resumed.`,
		Example: "  uimgate stop charging --reason 'wrong prices in the policy'\n  uimgate stop agent agent-1\n  uimgate stop list",
	}, commands...)
}

// Resume returns the command uimgate resume.
func Resume() *cobra.Command {
	o := &operator{}
	commands := make([]*cobra.Command, 0, len(stoppable))
	for _, s := range stoppable {
		commands = append(commands, o.stopCommand("Resume "+s.stopped, "  uimgate resume "+s.example, s.kind, s.argument,
			operation.Resume, &processes.StopRequest{}))
	}
	return o.group(&cobra.Command{
		Use: "resume", Short: "End a stop",
		Long: `Resume ends a stop within a second, on all processes of the gateway. Give the same arguments as to
uimgate stop, including --service. uimgate stop list shows the stops in force. The command waits up to two seconds until
every process has applied the change, and prints how many have, and how long the slowest took.`,
		Example: "  uimgate resume charging\n  uimgate resume agent agent-1",
	}, commands...)
}

// stopCommand returns the command that begins or ends stops of one kind with the request r. The kind service takes its
// argument as the service.
func (o *operator) stopCommand(
	short, example string, kind pat.StopKind, argument string,
	op operation.Operation[processes.StopRequest, processes.Stop], r *processes.StopRequest,
) *cobra.Command {
	use, args := string(kind), cobra.NoArgs
	if argument != "" {
		use, args = use+" "+argument, cobra.ExactArgs(1)
	}
	return &cobra.Command{
		Use: use, Short: short, Args: cli.Args(args), Example: example,
		RunE: func(c *cobra.Command, args []string) error {
			r.Service, r.Kind, r.By, r.Wait = o.service, kind, userName(), true
			switch {
			case kind == pat.StopService:
				r.Service = args[0]
			case argument != "":
				r.Subject = args[0]
			}
			return printAnswer(c, o, stopColumns, op, *r)
		},
	}
}

// userName returns the name of the user who runs the command, for the audit stream. It returns "" if the name is unknown.
func userName() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

func (o *operator) stopList() *cobra.Command {
	ended := false
	c := &cobra.Command{
		Use: "list", Short: "List the stops in force, newest first", Args: cli.Args(cobra.NoArgs),
		Long: `List shows the stops in force or, with --ended, the last 100 that ended. The column APPLIED shows how many of the
running processes have applied the stop or its end, and how long the slowest took. A process that no longer reports
refuses all calls until it has read the stop.`,
		Example: "  uimgate stop list -o json\n  uimgate stop list --ended",
		RunE: func(c *cobra.Command, _ []string) error {
			o.all = true // the gateway returns all of them at once
			q := processes.StopQuery{}
			if ended {
				q.State = "ended"
			}
			return printQuery(c, o, stopColumns, operation.Stops, q)
		},
	}
	c.Flags().BoolVar(&ended, "ended", false, "list the stops that ended instead")
	return c
}

// printStops prints the stops in force.
func printStops(out io.Writer, stops []processes.Stop) {
	for _, s := range stops {
		what := string(s.Kind)
		if s.Subject != "" {
			what += " " + s.Subject
		}
		switch {
		case s.Kind == pat.StopService:
			what += " " + s.Service
		case s.Service != "":
			what += " of service " + s.Service
		}
		fmt.Fprintf(out, "Stopped: %s, by %s, %s", cli.Sanitize(what), cli.Sanitize(s.By), cli.HumanTime(s.At))
		if s.Reason != "" {
			fmt.Fprintf(out, ": %s", cli.Sanitize(s.Reason))
		}
		fmt.Fprintln(out)
	}
}
