package operatorcmd

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/pat"
)

var agreementColumns = cli.Fields(`id agent_id state assurance created_at policy_digest agent_name client policy_uid* jkt* issuer* form*
	scope* client_id* redirect_host* invitation*`,
	cli.TextColumn("client", func(a agreements.Agreement) string { return cmp.Or(consentOf(a).ClientName, consentOf(a).ClientID) }),
	cli.TextColumn("client_id", func(a agreements.Agreement) string { return consentOf(a).ClientID }),
	cli.TextColumn("redirect_host", func(a agreements.Agreement) string { return consentOf(a).RedirectHost }),
	cli.TextColumn("invitation", func(a agreements.Agreement) string { return consentOf(a).Invitation }),
)

// consentOf returns the details of a consent. They are zero if the agent signed the agreement.
func consentOf(a agreements.Agreement) agreements.ConsentInfo {
	if a.Consent == nil {
		return agreements.ConsentInfo{}
	}
	return *a.Consent
}

// Agreements returns the command uimgate agreements.
func Agreements() *cobra.Command {
	o := &operator{}
	return o.group(&cobra.Command{
		Use: "agreements", Short: "List, prove and revoke the agreements with a service",
		Example: "  uimgate agreements list --agent agent-1\n" +
			"  uimgate agreements export 0193… > agreement.json && uimgate agreements verify agreement.json",
	}, o.agreementsList(), o.agreementsShow(), o.agreementsExport(), o.agreementsVerify(), o.agreementsRevoke(), o.agreementsPolicies())
}

func (o *operator) agreementsList() *cobra.Command {
	var q agreements.AgreementQuery
	c := listCommand(o, &cobra.Command{
		Use: "list", Short: "List agreements, newest first",
		Example: `  uimgate agreements list --state pending
  uimgate agreements list --policy sha-256:Jx1… --without sha-256:q0B…   # who has not agreed to the next policy`,
	}, agreementColumns, operation.Agreements, &q)
	c.Flags().StringVar((*string)(&q.AgentID), "agent", "", "only agreements of this agent")
	c.Flags().StringVar((*string)(&q.State), "state", "", "only agreements that are pending, active or revoked")
	c.Flags().StringVar(&q.PolicyDigest, "policy", "", "only agreements to the policy with this digest")
	c.Flags().StringVar(&q.Without, "without", "", "only agreements of agents that have none to the policy with this digest")
	return c
}

func (o *operator) agreementsPolicies() *cobra.Command {
	return listCommand(o, &cobra.Command{
		Use: "policies", Short: "List the policies that are or were offered, the one in force first",
		Long: `Policies prints the digests that agreements list --policy and pats revoke --policy accept, and when each policy
takes effect and ends. An agreement is to one digest. After a change of the policy it remains valid for the
intents whose terms have not changed. To see who has not agreed to the next policy yet, pass the digest of
the policy in force to agreements list --policy, and that of the next one to --without.`,
		Example: "  uimgate agreements policies --limit 5",
	}, policyColumns, operation.Policies, &policies.PolicyQuery{})
}

var policyColumns = cli.Fields[policies.Policy]("digest offered first_offered from until uid")

func (o *operator) agreementsShow() *cobra.Command {
	return showCommand(o, &cobra.Command{
		Use: "show ID", Short: "Show one agreement",
		Example: "  uimgate agreements show 01934f6e-7f6c-7d2a-9b1e-0123456789ab",
	}, agreementColumns, operation.Agreement)
}

func (o *operator) agreementsExport() *cobra.Command {
	return &cobra.Command{
		Use: "export ID", Short: "Print a bundle that proves an agreement to anyone", Args: cli.Args(cobra.ExactArgs(1)),
		Long: `Export prints one JSON document with the policy as it was served, the text that the agent signed, the signature and
the agent's public key. For a person's consent, it has the gateway's record, the record of each change of the budget,
and the gateway's public keys. Anyone can verify the document without this gateway: see verify.`,
		Example: "  uimgate agreements export 01934f6e-7f6c-7d2a-9b1e-0123456789ab > agreement.json",
		RunE: func(c *cobra.Command, args []string) error {
			bundle, err := call(c, o, operation.ExportAgreement, o.record(args[0]))
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(bundle)
			return err
		},
	}
}

func (o *operator) agreementsVerify() *cobra.Command {
	return &cobra.Command{
		Use: "verify FILE", Short: "Verify an exported agreement, offline", Args: cli.Args(cobra.ExactArgs(1)),
		Long: `Verify checks that the key in a bundle signed the policy in it, for this agent and this service. The agent may have
signed a JWS, the policy itself, or an envelope of the uAgents protocol. For a person's consent, it also checks each
change of the budget: that it is signed, follows the previous change, and changes only amounts. It needs no gateway
and no network. FILE may be - for standard input.`,
		Example: "  uimgate agreements verify agreement.json",
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.CheckFormat(o.format); err != nil {
				return err
			}
			text, err := cli.ReadInput(c, args[0], "the bundle", pat.MaxExport)
			if err != nil {
				return fmt.Errorf("reading the bundle: %w", err)
			}
			e, err := pat.VerifyExport(text, bindings.Forms())
			if err != nil {
				return fmt.Errorf("NOT PROVED: %w", err)
			}
			fmt.Fprintln(c.ErrOrStderr(), "Proved: "+agreements.ProvedBy(e, bindings.Forms()))
			return cli.PrintOne(c, o.format, agreements.AgreementOf(e.Agreement), agreementColumns)
		},
	}
}

func (o *operator) agreementsRevoke() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "revoke ID", Short: "Revoke an agreement and every PAT issued for it", Args: cli.Args(cobra.ExactArgs(1)),
		Long:    `Revoke ends an agreement immediately. The agent may agree again: to prevent that, block the agent.`,
		Example: `  uimgate agreements revoke 01934f6e-7f6c-7d2a-9b1e-0123456789ab --reason "withdrawn"`,
		RunE: func(c *cobra.Command, args []string) error {
			return printAnswer(c, o, agreementColumns, operation.RevokeAgreement, o.revocation(args[0], reason))
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "reason, stored with the revocation")
	return c
}
