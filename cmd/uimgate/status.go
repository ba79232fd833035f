package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/gateway/admin"
)

var errState = errors.New("the state must be captured or released")

var serviceColumns = []column[admin.ServiceStatus]{
	{name: "service", exact: func(s admin.ServiceStatus) string { return s.ID }},
	{name: "issuer", exact: func(s admin.ServiceStatus) string { return s.Issuer }},
	{name: "public_url", exact: func(s admin.ServiceStatus) string { return s.PublicURL }},
	{name: "intents", exact: func(s admin.ServiceStatus) string { return strconv.Itoa(s.Intents) }},
	{name: "breaker", exact: func(s admin.ServiceStatus) string { return s.Breaker }},
	{name: "policy_digest", exact: func(s admin.ServiceStatus) string { return s.Policy.Digest }},
	{name: "engine", exact: func(s admin.ServiceStatus) string { return s.Engine }},
	{name: "engine_reason", wide: true, exact: func(s admin.ServiceStatus) string { return s.EngineReason }},
	{name: "policy_uid", wide: true, exact: func(s admin.ServiceStatus) string { return s.Policy.UID }},
}

func statusCommand() *cobra.Command {
	o := &operator{}
	c := &cobra.Command{
		Use: "status", Short: "Show what a running gateway serves, and how it is", Args: usageArgs(cobra.NoArgs),
		Long:    `Status shows the services of a running gateway. It ends with 1 where the gateway is not ready.`,
		Example: "  uimgate status -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			data, err := o.get(c, "/status", nil)
			if err != nil {
				return err
			}
			var status admin.Status
			if err := json.Unmarshal(data, &status); err != nil {
				return errNotOurs(err)
			}
			if err := printRecords(c.OutOrStdout(), o.format, data, status.Services, serviceColumns); err != nil {
				return err
			}
			out := c.ErrOrStderr()
			fmt.Fprintf(out, "Configuration %.12s, taken over %s. Signing key %s.\n", plain(status.Configuration.Hash), humanTime(status.Configuration.TakenAt), plain(string(status.SigningKey)))
			if status.Ready {
				return nil
			}
			for name, check := range status.Checks {
				if !check.OK {
					fmt.Fprintf(out, "Not ready: %s: %s\n", plain(name), plain(check.Reason))
				}
			}
			return errSilent
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
			data, err := o.post(c, "/reload", nil, nil)
			if refused, ok := errors.AsType[*refusedError](err); ok && len(refused.problems) > 0 {
				printFound(c, refused.problems)
				fmt.Fprintln(c.ErrOrStderr(), refused.message)
				return errSilent
			}
			if err != nil {
				return err
			}
			var done admin.Reload
			if err := json.Unmarshal(data, &done); err != nil {
				return errNotOurs(err)
			}
			printFound(c, done.Problems)
			return printOne(c, o, data, []column[admin.Reload]{
				{name: "configuration", exact: func(r admin.Reload) string { return r.Configuration.Hash }},
				{
					name: "taken_at", exact: func(r admin.Reload) string { return exactTime(r.Configuration.TakenAt) },
					human: func(r admin.Reload) string { return humanTime(r.Configuration.TakenAt) },
				},
			})
		},
	}
	o.flags(c)
	return c
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
		fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", plain(place), plain(p.Message))
	}
}
