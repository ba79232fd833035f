package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/pat"
)

var patColumns = []column[admin.PAT]{
	{name: "jti", exact: func(t admin.PAT) string { return string(t.ID) }},
	{name: "agent_id", exact: func(t admin.PAT) string { return string(t.AgentID) }},
	{name: "state", exact: func(t admin.PAT) string { return t.State }},
	{name: "assurance", exact: func(t admin.PAT) string { return string(t.Assurance) }},
	{name: "lmt", exact: func(t admin.PAT) string { return fmt.Sprintf("%d/%d", t.Limit.Rate, t.Limit.Period) }, human: func(t admin.PAT) string { return humanLimit(t.Limit) }},
	timeColumn("issued_at", func(t admin.PAT) time.Time { return t.IssuedAt }, false),
	timeColumn("expires_at", func(t admin.PAT) time.Time { return t.ExpiresAt }, false),
	{name: "agreement_id", exact: func(t admin.PAT) string { return string(t.AgreementID) }},
	{name: "policy_digest", wide: true, exact: func(t admin.PAT) string { return t.PolicyDigest }},
	{name: "jkt", wide: true, exact: func(t admin.PAT) string { return string(t.KeyID) }},
	{name: "kid", wide: true, exact: func(t admin.PAT) string { return string(t.SigningKeyID) }},
	timeColumn("ends_at", func(t admin.PAT) time.Time { return t.EndsAt }, true),
	{name: "renewed_to", wide: true, exact: func(t admin.PAT) string { return string(t.RenewedTo) }},
	{name: "scope", wide: true, exact: func(t admin.PAT) string { return strings.Join(t.Scope, " ") }},
}

// humanLimit says how often in which time.
func humanLimit(l pat.Limit) string {
	n := humanize.Comma(l.Rate)
	if l.Period == 0 {
		return n + " ever"
	}
	for _, u := range []struct {
		seconds int64
		name    string
	}{{1, "second"}, {60, "minute"}, {3600, "hour"}, {86400, "day"}, {604800, "week"}, {31 * 86400, "month"}, {366 * 86400, "year"}} {
		if l.Period == u.seconds {
			return n + "/" + u.name
		}
	}
	return fmt.Sprintf("%s in %s", n, time.Duration(l.Period)*time.Second)
}

func patsCommand() *cobra.Command {
	o := &operator{}
	return o.group(&cobra.Command{
		Use: "pats", Short: "The PATs issued: list, revoke, introspect",
		Example: "  uimgate pats list --agent agent-1 --active\n  uimgate pats revoke --policy sha-256:…",
	}, o.patsList(), o.patsShow(), o.patsRevoke(), o.patsIntrospect())
}

func (o *operator) patsList() *cobra.Command {
	var agent, agreement string
	var active bool
	c := &cobra.Command{
		Use: "list", Short: "List the records of PATs, the newest first", Args: usageArgs(cobra.NoArgs),
		Example: "  uimgate pats list --agent agent-1 --active",
		RunE: func(c *cobra.Command, _ []string) error {
			state := ""
			if active {
				state = admin.PATActive
			}
			return printListing(c, o, "/pats", o.page("agent_id", agent, "agreement_id", agreement, "state", state), patColumns)
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "only those of this agent")
	c.Flags().StringVar(&agreement, "agreement", "", "only those of this agreement")
	c.Flags().BoolVar(&active, "active", false, "only those that work now")
	return o.paging(c)
}

func (o *operator) patsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show JTI", Short: "Show the record of one PAT", Args: usageArgs(cobra.ExactArgs(1)),
		Example: "  uimgate pats show p3XQ0w5mTkq7sJ1vYb2c9A",
		RunE: func(c *cobra.Command, args []string) error {
			data, err := o.get(c, apiPath("pats", args[0]), o.values())
			if err != nil {
				return err
			}
			return printOne(c, o, data, patColumns)
		},
	}
}

func (o *operator) patsRevoke() *cobra.Command {
	var reason, policy string
	c := &cobra.Command{
		Use: "revoke JTI | --policy DIGEST", Short: "End one PAT, or all PATs issued under a policy", Args: usageArgs(cobra.MaximumNArgs(1)),
		Example: `  uimgate pats revoke p3XQ0w5mTkq7sJ1vYb2c9A --reason "leaked"
  uimgate pats revoke --policy sha-256:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU`,
		RunE: func(c *cobra.Command, args []string) error {
			if (len(args) == 1) == (policy != "") {
				return usageError{errors.New("which PATs? give either a jti or --policy")}
			}
			if policy != "" {
				data, err := o.post(c, apiPath("policies", policy, "revoke"), o.values(), because(reason))
				if err != nil {
					return err
				}
				fmt.Fprintln(c.ErrOrStderr(), "All PATs issued so far under this policy have ended.")
				return printOne(c, o, data, []column[revokedPolicy]{
					{name: "digest", exact: func(p revokedPolicy) string { return p.Digest }},
					{name: "revoked", exact: func(p revokedPolicy) string { return exactBool(p.Revoked) }, human: func(p revokedPolicy) string { return yesNo(p.Revoked) }},
				})
			}
			data, err := o.post(c, apiPath("pats", args[0], "revoke"), o.values(), because(reason))
			if err != nil {
				return err
			}
			return printOne(c, o, data, patColumns)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why; kept with the revocation")
	c.Flags().StringVar(&policy, "policy", "", "digest of the policy whose PATs end")
	return c
}

type revokedPolicy struct {
	Digest  string `json:"digest"`
	Revoked bool   `json:"revoked"`
}

func (o *operator) patsIntrospect() *cobra.Command {
	return &cobra.Command{
		Use: "introspect [FILE]", Short: "Say what a PAT is worth", Args: usageArgs(cobra.MaximumNArgs(1)),
		Long: `Introspect reads a PAT from FILE, or from standard input, and says whether it works and what it says. It is
never taken from the command line, which others on the machine can read.`,
		Example: "  uimgate pats introspect < pat.txt",
		RunE: func(c *cobra.Command, args []string) error {
			const most = 64 << 10
			var text []byte
			var err error
			if len(args) == 1 && args[0] != "-" {
				text, err = readNamed(args[0], most)
			} else {
				text, err = readAtMost(c.InOrStdin(), "the PAT", most)
			}
			if err != nil {
				return fmt.Errorf("reading the PAT: %w", err)
			}
			token := strings.TrimSpace(string(text))
			if token == "" {
				return usageError{errors.New("there is no PAT in the input")}
			}
			data, err := o.post(c, "/introspect", o.values(), map[string]any{"token": token})
			if err != nil {
				return err
			}
			return printOne(c, o, data, introspectionColumns)
		},
	}
}

var introspectionColumns = []column[pat.Introspection]{
	{name: "active", exact: func(i pat.Introspection) string { return exactBool(i.Active) }, human: func(i pat.Introspection) string { return yesNo(i.Active) }},
	{name: "jti", exact: func(i pat.Introspection) string { return string(i.ID) }},
	{name: "sub", exact: func(i pat.Introspection) string { return string(i.Subject) }},
	{name: "iss", exact: func(i pat.Introspection) string { return i.Issuer }},
	timeColumn("iat", func(i pat.Introspection) time.Time { return unixTime(i.IssuedAt) }, false),
	timeColumn("exp", func(i pat.Introspection) time.Time { return unixTime(i.ExpiresAt) }, false),
	{name: "agr", exact: func(i pat.Introspection) string { return string(i.Agreement) }},
	{name: "assurance", exact: func(i pat.Introspection) string { return string(i.Assurance) }},
	{name: "pol_digest", exact: func(i pat.Introspection) string { return i.PolicyDigest }},
	{name: "lmt", exact: func(i pat.Introspection) string {
		if i.Limit == nil {
			return ""
		}
		return humanLimit(*i.Limit)
	}},
	{name: "scope", exact: func(i pat.Introspection) string { return i.Scope }},
}

func unixTime(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}
