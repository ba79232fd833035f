package operatorcmd

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/pat"
)

var patColumns = cli.Fields(`jti agent_id state assurance lmt issued_at expires_at agreement_id policy_digest* jkt* kid* ends_at*
	renewed_to* scope*`,
	cli.TextColumn("lmt", func(t agreements.PAT) string { return fmt.Sprintf("%d/%d", t.Limit.Rate, t.Limit.Period) }).
		ForPeople(func(t agreements.PAT) string { return humanLimit(t.Limit) }),
)

// humanLimit formats a limit as calls per period, such as 100/hour.
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

// PATs returns the command uimgate pats.
func PATs() *cobra.Command {
	o := &operator{}
	return o.group(&cobra.Command{
		Use: "pats", Short: "List, revoke and introspect PATs",
		Example: "  uimgate pats list --agent agent-1 --active\n  uimgate pats revoke --policy sha-256:…",
	}, o.patsList(), o.patsShow(), o.patsRevoke(), o.patsIntrospect())
}

func (o *operator) patsList() *cobra.Command {
	var q agreements.PATQuery
	var active bool
	c := &cobra.Command{
		Use: "list", Short: "List the records of PATs, newest first", Args: cli.Args(cobra.NoArgs),
		Example: "  uimgate pats list --agent agent-1 --active",
		RunE: func(c *cobra.Command, _ []string) error {
			if active {
				q.State = agreements.PATActive
			}
			return printQuery(c, o, patColumns, operation.PATs, q)
		},
	}
	c.Flags().StringVar((*string)(&q.AgentID), "agent", "", "only PATs of this agent")
	c.Flags().StringVar((*string)(&q.AgreementID), "agreement", "", "only PATs of this agreement")
	c.Flags().BoolVar(&active, "active", false, "only PATs that are currently valid")
	return o.paging(c)
}

func (o *operator) patsShow() *cobra.Command {
	return showCommand(o, &cobra.Command{
		Use: "show JTI", Short: "Show the record of one PAT",
		Example: "  uimgate pats show 5HJQ2RQX4MVTSZ6W7LNKD3BACE",
	}, patColumns, operation.PAT)
}

func (o *operator) patsRevoke() *cobra.Command {
	var reason, policy string
	c := &cobra.Command{
		Use: "revoke JTI | --policy DIGEST", Short: "Revoke one PAT, or all PATs issued under a policy", Args: cli.Args(cobra.MaximumNArgs(1)),
		Example: `  uimgate pats revoke 5HJQ2RQX4MVTSZ6W7LNKD3BACE --reason "leaked"
  uimgate pats revoke --policy sha-256:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU`,
		RunE: func(c *cobra.Command, args []string) error {
			if (len(args) == 1) == (policy != "") {
				return cli.Usage(errors.New("give either a jti or --policy"))
			}
			if policy != "" {
				return o.revokePolicy(c, o.revocation(policy, reason))
			}
			return printAnswer(c, o, patColumns, operation.RevokePAT, o.revocation(args[0], reason))
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "reason, stored with the revocation")
	c.Flags().StringVar(&policy, "policy", "", "digest of the policy whose PATs to revoke")
	return c
}

func (o *operator) revokePolicy(c *cobra.Command, r api.Revocation) error {
	revoked, err := call(c, o, operation.RevokePolicy, r)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.ErrOrStderr(), "All PATs issued so far under this policy are revoked.")
	return cli.PrintOne(c, o.format, revoked, cli.Fields[agreements.RevokedPolicy]("digest revoked"))
}

func (o *operator) patsIntrospect() *cobra.Command {
	return &cobra.Command{
		Use: "introspect [FILE]", Short: "Report whether a PAT is valid, and print its claims", Args: cli.Args(cobra.MaximumNArgs(1)),
		Long: `Introspect reads a PAT from FILE, or from standard input, and prints whether the PAT is valid, and its claims. It does
not accept a PAT on the command line, because other users of the machine can read command lines.`,
		Example: "  uimgate pats introspect < pat.txt",
		RunE: func(c *cobra.Command, args []string) error {
			text, err := cli.ReadInput(c, append(args, "-")[0], "the PAT", 64<<10)
			if err != nil {
				return fmt.Errorf("reading the PAT: %w", err)
			}
			token := strings.TrimSpace(string(text))
			if token == "" {
				return cli.Usage(errors.New("the input has no PAT"))
			}
			return printAnswer(c, o, introspectionColumns, operation.Introspect, agreements.PresentedToken{Service: o.service, Token: token})
		},
	}
}

var introspectionColumns = cli.Fields("active jti sub iss iat exp agr assurance pol_digest lmt scope",
	cli.TimeColumn("iat", func(i pat.Introspection) time.Time { return unixTime(i.IssuedAt) }),
	cli.TimeColumn("exp", func(i pat.Introspection) time.Time { return unixTime(i.ExpiresAt) }),
	cli.TextColumn("lmt", func(i pat.Introspection) string {
		if i.Limit == nil {
			return ""
		}
		return humanLimit(*i.Limit)
	}),
)

func unixTime(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}
