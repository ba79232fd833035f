package agentcmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/policycmd"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

func agentKeygenCommand(s *agentSettings) *cobra.Command {
	var algorithm string
	c := &cobra.Command{
		Use: "keygen", Short: "Create the agent's key",
		Long: "Keygen creates a private key for the agent (PEM PKCS#8, readable only by its owner). It never overwrites an existing key.",
		Example: `  uimgate agent keygen
  uimgate agent keygen --key ./agent.pem --algorithm RS256
  uimgate agent keygen --via uagents   # an identity of the uAgents protocol: agent1…`,
		Args: cli.Args(cobra.NoArgs),
		RunE: s.run(func(c *cobra.Command, _ []string) error {
			path, err := s.keyPath()
			if err != nil {
				return err
			}
			if s.isUAgent() {
				return s.makeSeed(c, path)
			}
			key, err := agent.NewKey(algorithm)
			if errors.Is(err, agent.ErrOptions) {
				return cli.Usage(err)
			}
			if err != nil {
				return err
			}
			client, err := agent.New(agent.Options{Key: key, AgentID: s.id})
			if err != nil {
				return err
			}
			public, err := keys.New(key.Public())
			if err != nil {
				return err
			}
			if err := agent.SaveKey(path, key); err != nil {
				return err
			}
			s.printNote(c, "wrote %s\n  agent id   %s", path, client.AgentID())
			return s.printData(c, map[string]any{
				"key": path, "agent_id": client.AgentID(), "thumbprint": client.KeyID(), "algorithm": public.Algorithm(), "jwk": rawJSON(public.JWK()),
			}, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, client.KeyID())
				return err
			})
		}),
	}
	c.Flags().StringVar(&algorithm, "algorithm", keys.EdDSA, "EdDSA, ES256 or RS256")
	return c
}

func agentAgreeCommand(s *agentSettings) *cobra.Command {
	var (
		yes, next  bool
		declared   []string
		acceptance agent.Acceptance
	)
	c := &cobra.Command{
		Use: "agree SERVICE", Short: "Agree to a service's policy and get a token",
		Long: `Agree signs the policy of a service, gets a Policy Adherence Token, and stores the token for execute.
Without --digest, it first explains the terms in plain English on stderr, as the page of the service does.
If there is an agreement to an earlier policy, it explains only what changes. --digest names the policy to
sign; --yes signs the policy that is in force, without asking. Without either flag, agree asks for confirmation on the terminal, and fails without one. With --next, agree signs the policy that takes effect next instead; the present agreement remains in force until then. To use the next policy at once, name it with --digest.`,
		Example: `  uimgate agent agree shop.example
  uimgate agent agree shop.example --digest sha-256:Jx1…
  uimgate agent agree shop.example --yes --scope shop.example:search:v1:execute
  uimgate agent agree shop.example --yes --declare purpose=research
  uimgate agent agree shop.example --plan pro
  uimgate agent agree shop.example --next   # terms that the service has announced for a later date
  uimgate agent agree shop.example --yes --via uagents`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: s.run(func(c *cobra.Command, args []string) error {
			if yes && acceptance.Digest != "" {
				return cli.Usage(errors.New("--yes and --digest cannot be combined: --yes signs any policy, --digest only the named one"))
			}
			var err error
			if acceptance.Declared, err = declarations(declared); err != nil {
				return cli.Usage(err)
			}
			client, err := s.client(true)
			if err != nil {
				return err
			}
			defer client.Close()
			stored, err := s.storedWith(c, client, args[0])
			if err != nil {
				return err
			}
			service, err := discover(c, client, args[0], stored)
			if err != nil {
				return err
			}
			if next && acceptance.Digest != "" {
				return cli.Usage(errors.New("--next and --digest cannot be combined: an agreement to the policy that --digest names takes effect at once"))
			}
			present := presentOf(stored)
			if next && present.Agreed() {
				if service, err = client.Resume(present); err != nil {
					return err
				}
			}
			acceptance.OnDate = next
			if acceptance.Digest == "" {
				if err := s.accept(c, service, client, &acceptance, yes, present); err != nil {
					return err
				}
			}
			agreement, err := service.Agree(c.Context(), acceptance)
			if _, pending := errors.AsType[*agent.PendingError](err); err == nil || pending {
				err = errors.Join(err, s.save(service))
			}
			if err != nil {
				return err
			}
			return s.printAgreement(c, "agreed", agreement)
		}),
	}
	f := c.Flags()
	f.BoolVar(&yes, "yes", false, "sign without asking")
	f.BoolVar(&next, "next", false, "agree to the policy that takes effect next, from its date on")
	f.StringVar(&acceptance.Digest, "digest", "", "sign only the policy with this digest")
	f.StringArrayVar(&acceptance.Scope, "scope", nil, "scope entry to request, <intent uid>:execute (repeat for several; default all)")
	f.StringArrayVar(&declared, "declare", nil,
		"claim about the agent in the signed agreement: name=value, such as purpose=research (repeat for several)")
	f.StringVar(&acceptance.Plan, "plan", "", "plan of the policy to choose; an agreement with another plan ends the earlier one")
	f.StringVar(&acceptance.Issuer, "issuer", "", "agree with this issuer even if the host does not vouch for it")
	return c
}

// declarations parses the values of --declare. A name that occurs several times has several values.
func declarations(list []string) (pat.Declaration, error) {
	var d pat.Declaration
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("--declare %q: want name=value, such as purpose=research", text)
		}
		if d == nil {
			d = pat.Declaration{}
		}
		d[name] = append(d[name], value)
	}
	return d, nil
}

// storedWith returns the stored sessions with a service.
func (s *agentSettings) storedWith(c *cobra.Command, client *agent.Client, target string) ([]agent.Session, error) {
	sessions, err := s.sessions(c, client)
	return slices.DeleteFunc(sessions, func(session agent.Session) bool { return !session.Matches(target) }), err
}

// discover finds a service. If a stored agreement with it waits for approval, discover resumes that agreement.
func discover(c *cobra.Command, client *agent.Client, target string, stored []agent.Session) (*agent.Service, error) {
	if at := slices.IndexFunc(stored, agent.Session.Pending); at >= 0 {
		return client.Resume(stored[at])
	}
	return client.Discover(c.Context(), target)
}

// presentOf returns the agreement of the stored sessions with a service. If there is none, it returns the zero Session.
func presentOf(stored []agent.Session) agent.Session {
	if at := slices.IndexFunc(stored, agent.Session.Agreed); at >= 0 {
		return stored[at]
	}
	return agent.Session{}
}

// policyToSign returns the policy that is in force or, for an agreement from a later date on, the one that takes effect next.
func policyToSign(c *cobra.Command, service *agent.Service, onDate bool) (agent.Policy, time.Time, error) {
	if !onDate {
		policy, err := service.Policy(c.Context())
		return policy, time.Time{}, err
	}
	next, known, err := service.Successor(c.Context())
	if err == nil && !known {
		err = fmt.Errorf("%s has announced no other policy: agree without --next", printable(service.Issuer()))
	}
	return next.Policy, next.From, err
}

// accept shows the policy to sign, sets the digest of seen, and asks for confirmation unless yes is true. If present is an agreement to
// another policy, it shows only the changes. It returns an error if the policy is not confirmed.
func (s *agentSettings) accept(
	c *cobra.Command, service *agent.Service, client *agent.Client, seen *agent.Acceptance, yes bool, present agent.Session,
) error {
	policy, from, err := policyToSign(c, service, seen.OnDate)
	if err != nil {
		return err
	}
	s.printNote(c, "%s offers the policy %s\n  digest   %s\n  from     %s\n  you are  %s, key %s",
		printable(service.Issuer()), printable(policy.UID), policy.Digest, printable(policy.URL), client.AgentID(), client.KeyID())
	if !from.IsZero() {
		s.printNote(c, "  begins   %s", from.Local().Format(time.RFC1123))
	}
	if s.output != "json" {
		catalog, err := service.Catalog(c.Context())
		if err != nil {
			return err
		}
		if err := printNews(c, present, policy, catalog); err != nil {
			return err
		}
	}
	seen.Digest = policy.Digest
	if yes {
		return nil
	}
	if !cli.IsTerminal(c.InOrStdin()) || s.output == "json" {
		return cli.Usage(errors.New("nothing was signed: pass --digest " + policy.Digest + ", or --yes"))
	}
	if signs, err := cli.Ask(c, "Sign this policy?"); !signs || err != nil {
		return cmp.Or(err, errors.New("nothing was signed"))
	}
	return nil
}

// printNews explains on stderr what changes when a policy replaces that of the present agreement. If there is no such agreement, if it is
// to the same policy, or if the policies cannot be compared, printNews explains the whole policy.
func printNews(c *cobra.Command, present agent.Session, policy agent.Policy, catalog *intents.Catalog) error {
	if len(present.Document) == 0 || present.PolicyDigest == policy.Digest {
		return printTerms(c, policy, catalog)
	}
	known, err := policycmd.Changes(c, c.ErrOrStderr(), present.Document, policy.Raw)
	if err == nil && !known {
		return printTerms(c, policy, catalog)
	}
	return err
}

// printTerms explains the policy on stderr in plain English, as policy explain does. If that is not possible, it prints a warning.
func printTerms(c *cobra.Command, policy agent.Policy, catalog *intents.Catalog) error {
	known, err := policycmd.Terms(c, c.ErrOrStderr(), c.ErrOrStderr(), policy.Raw, catalog)
	if err == nil && !known {
		_, err = fmt.Fprintln(c.ErrOrStderr(), "warning: this policy cannot be explained in plain English: read the document itself")
	}
	return err
}

func (s *agentSettings) printAgreement(c *cobra.Command, what string, a agent.Agreement) error {
	data := map[string]any{
		"agreement_id": a.ID, "policy": map[string]string{"uid": a.PolicyUID, "digest": a.PolicyDigest}, "form": a.Form, "scope": a.Scope,
	}
	if !a.ExpiresAt.IsZero() {
		data["expires_at"] = a.ExpiresAt.Format(time.RFC3339)
		begins := ""
		if !a.NotBefore.IsZero() {
			data["not_before"] = a.NotBefore.Format(time.RFC3339)
			begins = "from " + a.NotBefore.Local().Format(time.RFC1123) + " "
		}
		s.printNote(c, "%s; the token is valid %suntil %s", what, begins, a.ExpiresAt.Local().Format(time.RFC1123))
	} else {
		s.printNote(c, "%s", what)
	}
	if !a.Form.Fresh() {
		s.printNote(c, "warning: the service does not accept fresh agreements: anyone who sees this one (%s) can replay it", a.Form)
	}
	if len(a.ScopeOmitted) > 0 {
		data["scope_omitted"] = a.ScopeOmitted
		for _, o := range a.ScopeOmitted {
			s.printNote(c, "not granted: %s (%s)", o.Entry, o.Reason)
		}
	}
	return s.printData(c, data, func(w io.Writer) error {
		for _, entry := range a.Scope {
			if _, err := fmt.Fprintln(w, entry); err != nil {
				return err
			}
		}
		return nil
	})
}

// onService runs a function on the agreement that resume returns.
func (s *agentSettings) onService(c *cobra.Command, target, uid string, do func(*agent.Service) error) error {
	client, err := s.client(true)
	if err != nil {
		return err
	}
	defer client.Close()
	service, err := s.resume(c, client, target, uid)
	if err != nil {
		return err
	}
	return do(service)
}

// saveChanged saves the session of a service if an operation has changed it. It returns err, the error of the operation, joined with the
// error of saving.
func (s *agentSettings) saveChanged(service *agent.Service, before agent.Session, err error) error {
	if service.Session().Changed(before) {
		err = errors.Join(err, s.save(service))
	}
	return err
}

// resumed wraps a command so that it runs on the agreement with the service that its argument names. Without an argument, it runs on the
// only agreement.
func (s *agentSettings) resumed(do func(*cobra.Command, *agent.Service) error) func(*cobra.Command, []string) error {
	return s.run(func(c *cobra.Command, args []string) error {
		return s.onService(c, strings.Join(args, ""), "", func(service *agent.Service) error { return do(c, service) })
	})
}

func agentRenewCommand(s *agentSettings) *cobra.Command {
	return &cobra.Command{
		Use: "renew [SERVICE]", Short: "Renew the token of an agreement now",
		Long:    "Renew renews the token of an agreement immediately. Execute renews a token automatically when it is due.",
		Example: `  uimgate agent renew shop.example`,
		Args:    cli.Args(cobra.MaximumNArgs(1)),
		RunE: s.resumed(func(c *cobra.Command, service *agent.Service) error {
			agreement, err := service.Renew(c.Context())
			if err != nil {
				return err
			}
			return errors.Join(s.save(service), s.printAgreement(c, "renewed", agreement))
		}),
	}
}

func agentRevokeCommand(s *agentSettings) *cobra.Command {
	return &cobra.Command{
		Use: "revoke [SERVICE]", Short: "Revoke the token of an agreement, and delete the stored agreement",
		Example: `  uimgate agent revoke shop.example`,
		Args:    cli.Args(cobra.MaximumNArgs(1)),
		RunE: s.resumed(func(c *cobra.Command, service *agent.Service) error {
			if err := service.Revoke(c.Context()); err != nil {
				return err
			}
			if err := s.forget(service); err != nil {
				return err
			}
			s.printNote(c, "revoked")
			return s.printData(c, map[string]any{"revoked": true}, func(io.Writer) error { return nil })
		}),
	}
}
