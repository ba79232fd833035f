package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/client"
	"github.com/uimgate/uimgate/pat"
)

var patColumns = []column[admin.PAT]{
	textColumn("jti", func(t admin.PAT) pat.TokenID { return t.ID }),
	textColumn("agent_id", func(t admin.PAT) pat.AgentID { return t.AgentID }),
	textColumn("state", func(t admin.PAT) string { return t.State }),
	textColumn("assurance", func(t admin.PAT) pat.Assurance { return t.Assurance }),
	textColumn("lmt", func(t admin.PAT) string { return fmt.Sprintf("%d/%d", t.Limit.Rate, t.Limit.Period) }).
		forPeople(func(t admin.PAT) string { return humanLimit(t.Limit) }),
	timeColumn("issued_at", func(t admin.PAT) time.Time { return t.IssuedAt }),
	timeColumn("expires_at", func(t admin.PAT) time.Time { return t.ExpiresAt }),
	textColumn("agreement_id", func(t admin.PAT) pat.AgreementID { return t.AgreementID }),
	textColumn("policy_digest", func(t admin.PAT) string { return t.PolicyDigest }).onlyCSV(),
	textColumn("jkt", func(t admin.PAT) pat.KeyID { return t.KeyID }).onlyCSV(),
	textColumn("kid", func(t admin.PAT) pat.KeyID { return t.SigningKeyID }).onlyCSV(),
	timeColumn("ends_at", func(t admin.PAT) time.Time { return t.EndsAt }).onlyCSV(),
	textColumn("renewed_to", func(t admin.PAT) pat.TokenID { return t.RenewedTo }).onlyCSV(),
	listColumn("scope", func(t admin.PAT) []string { return t.Scope }).onlyCSV(),
}

// humanLimit words a limit: how often in which time.
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
	var q admin.PATQuery
	var active bool
	c := &cobra.Command{
		Use: "list", Short: "List the records of PATs, the newest first", Args: usageArgs(cobra.NoArgs),
		Example: "  uimgate pats list --agent agent-1 --active",
		RunE: func(c *cobra.Command, _ []string) error {
			if active {
				q.State = admin.PATActive
			}
			return printListing(c, o, patColumns, func(ctx context.Context, api *client.Client, p admin.Paging) (admin.Page[admin.PAT], error) {
				q.Service, q.Paging = o.service, p
				return api.PATs(ctx, q)
			})
		},
	}
	c.Flags().StringVar((*string)(&q.AgentID), "agent", "", "only those of this agent")
	c.Flags().StringVar((*string)(&q.AgreementID), "agreement", "", "only those of this agreement")
	c.Flags().BoolVar(&active, "active", false, "only those that work now")
	return o.paging(c)
}

func (o *operator) patsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show JTI", Short: "Show the record of one PAT", Args: usageArgs(cobra.ExactArgs(1)),
		Example: "  uimgate pats show 5HJQ2RQX4MVTSZ6W7LNKD3BACE",
		RunE: func(c *cobra.Command, args []string) error {
			return printAnswer(c, o, patColumns, func(ctx context.Context, api *client.Client) (admin.PAT, error) {
				return api.PAT(ctx, o.record(args[0]))
			})
		},
	}
}

func (o *operator) patsRevoke() *cobra.Command {
	var reason, policy string
	c := &cobra.Command{
		Use: "revoke JTI | --policy DIGEST", Short: "End one PAT, or all PATs issued under a policy", Args: usageArgs(cobra.MaximumNArgs(1)),
		Example: `  uimgate pats revoke 5HJQ2RQX4MVTSZ6W7LNKD3BACE --reason "leaked"
  uimgate pats revoke --policy sha-256:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU`,
		RunE: func(c *cobra.Command, args []string) error {
			if (len(args) == 1) == (policy != "") {
				return usageError{errors.New("which PATs? give either a jti or --policy")}
			}
			if policy != "" {
				return o.revokePolicy(c, o.revocation(policy, reason))
			}
			return printAnswer(c, o, patColumns, func(ctx context.Context, api *client.Client) (admin.PAT, error) {
				return api.RevokePAT(ctx, o.revocation(args[0], reason))
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why; kept with the revocation")
	c.Flags().StringVar(&policy, "policy", "", "digest of the policy whose PATs end")
	return c
}

func (o *operator) revokePolicy(c *cobra.Command, r admin.Revocation) error {
	revoked, err := call(c, o, func(ctx context.Context, api *client.Client) (admin.RevokedPolicy, error) {
		return api.RevokePolicy(ctx, r)
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(c.ErrOrStderr(), "All PATs issued so far under this policy have ended.")
	return printOne(c, o, revoked, []column[admin.RevokedPolicy]{
		textColumn("digest", func(p admin.RevokedPolicy) string { return p.Digest }),
		flagColumn("revoked", func(p admin.RevokedPolicy) bool { return p.Revoked }),
	})
}

func (o *operator) patsIntrospect() *cobra.Command {
	return &cobra.Command{
		Use: "introspect [FILE]", Short: "Say what a PAT is worth", Args: usageArgs(cobra.MaximumNArgs(1)),
		Long: `Introspect reads a PAT from FILE, or from standard input, and prints whether it is valid, and its claims. It does
not accept a PAT on the command line, which others on the machine can read.`,
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
			return printAnswer(c, o, introspectionColumns, func(ctx context.Context, api *client.Client) (pat.Introspection, error) {
				return api.Introspect(ctx, admin.PresentedToken{Service: o.service, Token: token})
			})
		},
	}
}

var introspectionColumns = []column[pat.Introspection]{
	flagColumn("active", func(i pat.Introspection) bool { return i.Active }),
	textColumn("jti", func(i pat.Introspection) pat.TokenID { return i.ID }),
	textColumn("sub", func(i pat.Introspection) pat.AgentID { return i.Subject }),
	textColumn("iss", func(i pat.Introspection) string { return i.Issuer }),
	timeColumn("iat", func(i pat.Introspection) time.Time { return unixTime(i.IssuedAt) }),
	timeColumn("exp", func(i pat.Introspection) time.Time { return unixTime(i.ExpiresAt) }),
	textColumn("agr", func(i pat.Introspection) pat.AgreementID { return i.Agreement }),
	textColumn("assurance", func(i pat.Introspection) pat.Assurance { return i.Assurance }),
	textColumn("pol_digest", func(i pat.Introspection) string { return i.PolicyDigest }),
	textColumn("lmt", func(i pat.Introspection) string {
		if i.Limit == nil {
			return ""
		}
		return humanLimit(*i.Limit)
	}),
	textColumn("scope", func(i pat.Introspection) string { return i.Scope }),
}

func unixTime(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}
