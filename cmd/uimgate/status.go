package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/client"
	"github.com/uimgate/uimgate/gateway/door"
)

var serviceColumns = []column[admin.ServiceStatus]{
	textColumn("service", func(s admin.ServiceStatus) string { return s.ID }),
	textColumn("issuer", func(s admin.ServiceStatus) string { return s.Issuer }),
	textColumn("public_url", func(s admin.ServiceStatus) string { return s.PublicURL }),
	textColumn("upstream", func(s admin.ServiceStatus) string { return s.Upstream }),
	countColumn("intents", func(s admin.ServiceStatus) int64 { return int64(s.Intents) }),
	textColumn("breaker", func(s admin.ServiceStatus) string { return s.Breaker }),
	countColumn("waiting_agents", func(s admin.ServiceStatus) int64 { return s.WaitingAgents }),
	countColumn("unresolved_charges", func(s admin.ServiceStatus) int64 { return s.Unresolved }),
	textColumn("policy_digest", func(s admin.ServiceStatus) string { return s.Policy.Digest }),
	textColumn("engine", func(s admin.ServiceStatus) string { return s.Engine }),
	textColumn("engine_reason", func(s admin.ServiceStatus) string { return s.EngineReason }).onlyCSV(),
	textColumn("policy_uid", func(s admin.ServiceStatus) string { return s.Policy.UID }).onlyCSV(),
}

func statusCommand() *cobra.Command {
	o := &operator{}
	c := &cobra.Command{
		Use: "status", Short: "Show what a running gateway serves, and how it is", Args: usageArgs(cobra.NoArgs),
		Long:    `Status shows the services of a running gateway. It ends with 1 where the gateway is not ready.`,
		Example: "  uimgate status -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			status, err := call(c, o, func(ctx context.Context, api *client.Client) (admin.Status, error) { return api.Status(ctx) })
			if err != nil {
				return err
			}
			if err := o.printStatus(c.OutOrStdout(), status); err != nil {
				return err
			}
			out := c.ErrOrStderr()
			fmt.Fprintf(out, "Configuration %.12s, taken over %s. Signing key %s.\n",
				sanitize(status.Configuration.Hash), humanTime(status.Configuration.TakenAt), sanitize(status.SigningKey))
			for _, name := range slices.Sorted(maps.Keys(status.Checks)) {
				switch check := status.Checks[name]; {
				case !check.OK:
					fmt.Fprintf(out, "Not ready: %s: %s\n", sanitize(name), sanitize(check.Reason))
				case check.Degraded:
					fmt.Fprintf(out, "Degraded: %s: %s\n", sanitize(name), sanitize(check.Reason))
				}
			}
			printBacklog(out, status.Services)
			printConcealed(out, status.Services)
			printDoors(out, doorsOf(status.Services))
			printNeedsRestart(out, status.NeedsRestart)
			if refused := status.RefusedReload; refused != nil {
				fmt.Fprintf(out, "The configuration of %s was refused; the one before is served.\n", humanTime(refused.At))
				printFound(c, refused.Problems)
			}
			if !status.Ready {
				return errSilent
			}
			return nil
		},
	}
	o.flags(c)
	return c
}

// printBacklog prints what waits for the operator, and the command that shows it.
func printBacklog(out io.Writer, services []admin.ServiceStatus) {
	for _, s := range services {
		of := ""
		if len(services) > 1 {
			of = " --service " + shellQuote(s.ID)
		}
		if s.WaitingAgents > 0 {
			fmt.Fprintf(out, "Agents waiting for approval: %d: uimgate agents list --status waiting%s\n", s.WaitingAgents, sanitize(of))
		}
		for _, id := range s.HeldByOthers {
			fmt.Fprintf(out, "Reserved for another key than the one that holds it: uimgate agents show %s%s\n", shellQuote(string(id)), sanitize(of))
		}
		if s.Unresolved > 0 {
			fmt.Fprintf(out, "Charges of unknown outcome: %d: uimgate usage executions --state unresolved%s\n", s.Unresolved, sanitize(of))
		}
	}
}

// printConcealed names the intents whose answers repeat the operator's own values.
func printConcealed(out io.Writer, services []admin.ServiceStatus) {
	for _, s := range services {
		for _, intent := range slices.Sorted(maps.Keys(s.Concealed)) {
			fmt.Fprintf(out, "The API of %s writes a credential or a fixed value into its answers to %s: removed from %d\n",
				sanitize(s.ID), sanitize(intent), s.Concealed[intent])
		}
	}
}

func (o *operator) printStatus(w io.Writer, status admin.Status) error {
	switch o.format {
	case "json":
		return printLine(w, status)
	case "csv":
		return printCSV(w, status.Services, serviceColumns, true)
	default:
		return printTable(w, status.Services, serviceColumns)
	}
}

// A serviceDoor is one door of one service.
type serviceDoor struct {
	Service string `json:"service"`
	door.Status
}

func doorsOf(services []admin.ServiceStatus) []serviceDoor {
	list := []serviceDoor{}
	for _, s := range services {
		for _, d := range s.Doors {
			list = append(list, serviceDoor{s.ID, d})
		}
	}
	return list
}

// printDoors names the doors in one line.
func printDoors(out io.Writer, doors []serviceDoor) {
	names := make([]string, 0, len(doors))
	for _, d := range doors {
		if !slices.Contains(names, d.Door) {
			names = append(names, d.Door)
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(out, "Doors: %s: uimgate doors\n", sanitize(strings.Join(names, ", ")))
	}
}

var doorColumns = []column[serviceDoor]{
	textColumn("service", func(d serviceDoor) string { return d.Service }),
	textColumn("door", func(d serviceDoor) string { return d.Door }),
	listColumn("addresses", func(d serviceDoor) []string {
		list := make([]string, 0, len(d.Addresses))
		for _, kind := range slices.Sorted(maps.Keys(d.Addresses)) {
			list = append(list, kind+"="+d.Addresses[kind])
		}
		return list
	}),
	textColumn("activity", func(d serviceDoor) string {
		if d.Activity == nil {
			return ""
		}
		text, _ := json.Marshal(d.Activity) // it came as JSON
		return string(text)
	}).onlyCSV(),
}

func doorsCommand() *cobra.Command {
	o := &operator{}
	c := &cobra.Command{
		Use: "doors", Short: "Show where agents of other protocols come in", Args: usageArgs(cobra.NoArgs),
		Long: `Doors shows the protocols by which agents can call the services of a running gateway, beside UIM over HTTP, with
the addresses that agents use. -o json adds the connections, queues and last error of each door.`,
		Example: "  uimgate doors\n  uimgate doors -o json | jq -r '.items[] | select(.door == \"uagents\").addresses.address'",
		RunE: func(c *cobra.Command, _ []string) error {
			status, err := call(c, o, func(ctx context.Context, api *client.Client) (admin.Status, error) { return api.Status(ctx) })
			if err != nil {
				return err
			}
			switch doors, out := doorsOf(status.Services), c.OutOrStdout(); o.format {
			case "json":
				return printLine(out, admin.Page[serviceDoor]{Items: doors})
			case "csv":
				return printCSV(out, doors, doorColumns, true)
			default:
				return printTable(out, doors, doorColumns)
			}
		},
	}
	o.flags(c)
	return c
}

func reloadCommand() *cobra.Command {
	o := &operator{}
	c := &cobra.Command{
		Use: "reload", Short: "Let a running gateway take over its configuration as it is now", Args: usageArgs(cobra.NoArgs),
		Long: `Reload makes the gateway read its configuration again and take it over as a whole. Where anything is wrong it
goes on with the one it has, and reload prints each problem as file:line: message and ends with 1.`,
		Example: "  uimgate reload",
		RunE: func(c *cobra.Command, _ []string) error {
			done, err := call(c, o, func(ctx context.Context, api *client.Client) (admin.Reload, error) { return api.Reload(ctx) })
			if refused, ok := errors.AsType[*client.RefusedError](err); ok && len(refused.Problems) > 0 {
				printFound(c, refused.Problems)
				fmt.Fprintln(c.ErrOrStderr(), refused.Message)
				return errSilent
			}
			if err != nil {
				return err
			}
			printFound(c, done.Problems)
			printNeedsRestart(c.ErrOrStderr(), done.NeedsRestart)
			return printOne(c, o, done, []column[admin.Reload]{
				textColumn("configuration", func(r admin.Reload) string { return r.Configuration.Hash }),
				timeColumn("taken_at", func(r admin.Reload) time.Time { return r.Configuration.TakenAt }),
			})
		},
	}
	o.flags(c)
	return c
}

// printNeedsRestart names the settings that were changed and are not in use yet.
func printNeedsRestart(out io.Writer, settings []string) {
	for _, s := range settings {
		fmt.Fprintf(out, "Needs a restart: %s\n", sanitize(s))
	}
}

// printFound prints problems as check does.
func printFound(c *cobra.Command, problems []admin.Problem) {
	for _, p := range problems {
		place := p.File
		if p.Line > 0 {
			place = fmt.Sprintf("%s:%d", p.File, p.Line)
		}
		if p.Level == "warning" {
			place += ": warning"
		}
		fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", sanitize(place), sanitize(p.Message))
	}
}
