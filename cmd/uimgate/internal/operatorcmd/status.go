package operatorcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/client"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/gateway/admin/status"
	"github.com/uimgate/uimgate/gateway/door"
)

var serviceColumns = cli.Fields(`service issuer public_url upstream intents breaker waiting_agents unresolved_charges policy_digest engine
	engine_reason* policy_uid*`,
	cli.TextColumn("service", func(s status.ServiceStatus) string { return s.ID }),
	cli.TextColumn("policy_digest", func(s status.ServiceStatus) string { return s.Policy.Digest }),
	cli.TextColumn("policy_uid", func(s status.ServiceStatus) string { return s.Policy.UID }),
)

// Status returns the command uimgate status.
func Status() *cobra.Command {
	o := &operator{}
	c := &cobra.Command{
		Use: "status", Short: "Show the services and the state of a running gateway", Args: cli.Args(cobra.NoArgs),
		Long: `Status shows the services and the state of a running gateway: its version, the key with which it signs, and limits that
are held back after a restore or a step of the clock. It also shows agents, charges and payments that wait for you, and
the common credit of unapproved agents and who used it. For a reload that was refused, it shows the file and the line of each
problem. It prints ? for a figure that cannot be read. The exit code is 1 if the gateway is not ready.`,
		Example: "  uimgate status -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			status, err := call(c, o, operation.Status, operation.None{})
			if err != nil {
				return err
			}
			if err := cli.Print(c, o.format, status, status.Services, serviceColumns, nil); err != nil {
				return err
			}
			out := c.ErrOrStderr()
			if status.Version != "" { // earlier releases of the gateway do not send it
				fmt.Fprintf(out, "uimgate %s. ", cli.Sanitize(status.Version))
			}
			fmt.Fprintf(out, "Configuration %.12s, loaded %s. Process %s signs with key %s.\n", cli.Sanitize(status.Configuration.Hash),
				cli.HumanTime(status.Configuration.TakenAt), cli.Sanitize(status.Process), cli.Sanitize(string(status.SigningKey)))
			for _, name := range slices.Sorted(maps.Keys(status.Checks)) {
				switch check := status.Checks[name]; {
				case !check.OK:
					fmt.Fprintf(out, "Not ready: %s: %s\n", cli.Sanitize(name), cli.Sanitize(check.Reason))
				case check.Degraded:
					fmt.Fprintf(out, "Degraded: %s: %s\n", cli.Sanitize(name), cli.Sanitize(check.Reason))
				}
			}
			printStops(out, status.Stops)
			printSuccessors(out, status.Services)
			printHeldLimits(out, status.HeldLimits)
			printLog(out, status.Log)
			printBacklog(out, status.Services)
			printConcealed(out, status.Services)
			printTools(out, status.Services)
			printDoors(out, doorsOf(status.Services))
			printNeedsRestart(out, status.NeedsRestart)
			if refused := status.RefusedReload; refused != nil {
				fmt.Fprintf(out, "The configuration of %s was rejected; the gateway still uses the previous one.\n", cli.HumanTime(refused.At))
				printFound(c, refused.Problems)
			}
			if !status.Ready {
				return cli.ErrSilent
			}
			return nil
		},
	}
	o.flags(c)
	return c
}

// printSuccessors prints the policies that take effect later, with the command that lists the agents that have not agreed to them yet.
func printSuccessors(out io.Writer, services []status.ServiceStatus) {
	for _, s := range services {
		for _, p := range s.Successors {
			fmt.Fprintf(out, "Service %s: the policy %s takes effect at %s. Agents that have not agreed to it: "+
				"uimgate agreements list --policy %s --without %[2]s\n",
				cli.Sanitize(s.ID), cli.Sanitize(p.Digest), p.From.UTC().Format(time.RFC3339), cli.Sanitize(s.Policy.Digest))
		}
	}
}

// printLog prints the newest checkpoint of each log, and how many lines are in no log yet.
func printLog(out io.Writer, log *status.LogStatus) {
	if log == nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(log.Services)) {
		h := log.Services[id]
		fmt.Fprintf(out, "Log of %s: %d entries, signed %s", cli.Sanitize(id), h.Size, cli.HumanTime(h.At))
		if h.CosignedAt != nil {
			fmt.Fprintf(out, ", last cosigned %s", cli.HumanTime(*h.CosignedAt))
		}
		fmt.Fprintln(out)
	}
	if log.LagLines > 0 {
		fmt.Fprintf(out, "Lines of the ledger that are in no log yet: %d, the oldest of them for %.1fs\n", log.LagLines, log.LagSeconds)
	}
}

// printBacklog prints the agents, charges and payments that need the operator's attention, with the commands that list them.
func printBacklog(out io.Writer, services []status.ServiceStatus) {
	for _, s := range services {
		of := ""
		if len(services) > 1 {
			of = " --service " + cli.ShellQuote(s.ID)
		}
		if n := s.WaitingAgents; n != nil && *n > 0 {
			fmt.Fprintf(out, "Agents waiting for approval: %d. See: uimgate agents list --status waiting%s\n", *n, cli.Sanitize(of))
		}
		for _, id := range s.HeldByOthers {
			fmt.Fprintf(out, "Agent id reserved for a key other than the one that uses it. See: uimgate agents show %s%s\n",
				cli.ShellQuote(string(id)), cli.Sanitize(of))
		}
		if n := s.Unresolved; n != nil && *n > 0 {
			fmt.Fprintf(out, "Charges of unknown outcome: %d. See: uimgate usage executions --state unresolved%s\n", *n, cli.Sanitize(of))
		}
		if s.Unclaimed > 0 {
			fmt.Fprintf(
				out,
				"Payments that wait for your decision: %d. See: uimgate usage payments --state unclaimed%s\n",
				s.Unclaimed,
				cli.Sanitize(of),
			)
		}
		printNewcomers(out, s)
		printUnread(out, s)
	}
}

// printTools prints the problems with the tools of MCP servers.
func printTools(out io.Writer, services []status.ServiceStatus) {
	for _, s := range services {
		if s.Tools == nil {
			continue
		}
		if s.Tools.Unread != "" {
			fmt.Fprintf(out, "The tools of %s cannot be listed: %s\n", cli.Sanitize(s.ID), cli.Sanitize(s.Tools.Unread))
		}
		if s.Tools.Ended != "" {
			fmt.Fprintf(out, "A process of %s last ended because %s; restarts: %d\n", cli.Sanitize(s.ID), cli.Sanitize(s.Tools.Ended),
				s.Tools.Restarts)
		}
		for _, intent := range slices.Sorted(maps.Keys(s.Tools.Misfits)) {
			fmt.Fprintf(out, "%s of %s does not fit its tool: %s\n", cli.Sanitize(intent), cli.Sanitize(s.ID), cli.Sanitize(s.Tools.Misfits[intent]))
		}
	}
}

// printConcealed prints the intents whose responses contained credentials or fixed values of the operator.
func printConcealed(out io.Writer, services []status.ServiceStatus) {
	for _, s := range services {
		for _, intent := range slices.Sorted(maps.Keys(s.Concealed)) {
			fmt.Fprintf(out, "The API of %s returned a credential or a fixed value in responses to %s, and the gateway removed it. Such responses: %d\n",
				cli.Sanitize(s.ID), cli.Sanitize(intent), s.Concealed[intent])
		}
	}
}

// A serviceDoor is one door of one service.
type serviceDoor struct {
	Service string `json:"service"`
	door.Status
}

func doorsOf(services []status.ServiceStatus) []serviceDoor {
	list := []serviceDoor{}
	for _, s := range services {
		for _, d := range s.Doors {
			list = append(list, serviceDoor{s.ID, d})
		}
	}
	return list
}

// printDoors prints the names of the doors, each once, on one line.
func printDoors(out io.Writer, doors []serviceDoor) {
	names := make([]string, 0, len(doors))
	for _, d := range doors {
		if !slices.Contains(names, d.Door) {
			names = append(names, d.Door)
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(out, "Doors: %s. See: uimgate doors\n", cli.Sanitize(strings.Join(names, ", ")))
	}
}

var doorColumns = cli.Fields("service door addresses activity*",
	cli.ListColumn("addresses", func(d serviceDoor) []string {
		list := make([]string, 0, len(d.Addresses))
		for _, kind := range slices.Sorted(maps.Keys(d.Addresses)) {
			list = append(list, kind+"="+d.Addresses[kind])
		}
		return list
	}),
	cli.TextColumn("activity", func(d serviceDoor) string {
		if d.Activity == nil {
			return ""
		}
		text, _ := json.Marshal(d.Activity) // cannot fail: the value was decoded from JSON
		return string(text)
	}),
)

// Doors returns the command uimgate doors.
func Doors() *cobra.Command {
	o := &operator{}
	c := &cobra.Command{
		Use: "doors", Short: "List the doors for agents of other protocols", Args: cli.Args(cobra.NoArgs),
		Long: `Doors lists the protocols, besides UIM over HTTP, through which agents can call the services of a running gateway,
with the addresses that agents use. -o json adds the connections, queues and last error of each door.`,
		Example: "  uimgate doors\n  uimgate doors -o json | jq -r '.items[] | select(.door == \"uagents\").addresses.address'",
		RunE: func(c *cobra.Command, _ []string) error {
			status, err := call(c, o, operation.Status, operation.None{})
			if err != nil {
				return err
			}
			doors := doorsOf(status.Services)
			return cli.Print(c, o.format, api.Page[serviceDoor]{Items: doors}, doors, doorColumns, nil)
		},
	}
	c.AddCommand(o.doorsConnect(), o.doorsAgree(), o.doorsTry())
	o.flags(c)
	return c
}

// Reload returns the command uimgate reload.
func Reload() *cobra.Command {
	o := &operator{}
	var request reloads.ReloadRequest
	c := &cobra.Command{
		Use: "reload", Short: "Make a running gateway reload its configuration", Args: cli.Args(cobra.NoArgs),
		Long: `Reload makes the gateway read its configuration again and apply the whole of it. If the configuration has errors, the
gateway keeps the present one, and reload prints each problem as file:line: message and exits with code 1.

The gateway also refuses a configuration with which agents could call no intent of a service. It refuses one with which
agents could no longer call an intent that they called in the last 7 days, unless the retire_after of the intent has
passed. --force applies such a configuration.`,
		Example: "  uimgate reload\n  uimgate reload --force\n  uimgate reload list",
		RunE: func(c *cobra.Command, _ []string) error {
			done, err := call(c, o, operation.Reload, request)
			if refused, ok := errors.AsType[*client.RefusedError](err); ok && len(refused.Problems) > 0 {
				printFound(c, refused.Problems)
				fmt.Fprintln(c.ErrOrStderr(), refused.Message)
				return cli.ErrSilent
			}
			if err != nil {
				return err
			}
			printFound(c, done.Problems)
			printNeedsRestart(c.ErrOrStderr(), done.NeedsRestart)
			return cli.PrintOne(c, o.format, done, cli.Fields("configuration taken_at",
				cli.TextColumn("configuration", func(r reloads.Reload) string { return r.Configuration.Hash }),
				cli.TimeColumn("taken_at", func(r reloads.Reload) time.Time { return r.Configuration.TakenAt }),
			))
		},
	}
	c.Flags().BoolVar(&request.Force, "force", false, "apply a configuration even if it ends intents that agents call")
	c.AddCommand(o.reloadList())
	o.flags(c)
	return c
}

// printNeedsRestart prints the changed settings that take effect only after a restart.
func printNeedsRestart(out io.Writer, settings []string) {
	for _, s := range settings {
		fmt.Fprintf(out, "Needs a restart: %s\n", cli.Sanitize(s))
	}
}

// printFound prints problems on stderr, in the format of uimgate check.
func printFound(c *cobra.Command, problems []reloads.Problem) {
	for _, p := range problems {
		place := p.File
		if p.Line > 0 {
			place = fmt.Sprintf("%s:%d", p.File, p.Line)
		}
		if p.Level == "warning" {
			place += ": warning"
		}
		fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", cli.Sanitize(place), cli.Sanitize(p.Message))
	}
}
