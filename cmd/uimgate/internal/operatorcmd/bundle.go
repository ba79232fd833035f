package operatorcmd

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/client"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

func (o *operator) usageBundle() *cobra.Command {
	var agent, month, currency, out string
	c := &cobra.Command{
		Use: "bundle", Short: "Write the evidence for the charges of an agent in a month to a file", Args: cli.Args(cobra.NoArgs),
		Long: `Bundle writes one file with everything that is needed to check the charges of an agent in a month without this gateway:
every entry of the ledger with its signature, the decision of the policy, the agent's proofs of key, agreements, policies,
keys, and the signed statement and invoice. It is JSON, one object per line, compressed with gzip; docs/evidence.md
describes it, and examples/evidence has two programs that check it.

The file contains the decisions about the agent's calls, but no parameters or outputs of calls.`,
		Example: "  uimgate usage bundle --agent agent-1 --month 2026-11 --out agent-1.jsonl.gz\n  node examples/evidence/verify.mjs agent-1.jsonl.gz",
		RunE: func(c *cobra.Command, _ []string) error {
			if agent == "" || month == "" || out == "" {
				return cli.Usage(errors.New("--agent, --month and --out are required"))
			}
			gateway, err := o.client(c.Context())
			if err != nil {
				return err
			}
			q := billing.EvidenceQuery{Record: o.record(agent), Month: month, Currency: currency}
			return intoFile(out, func(w io.Writer) error { return writeBundle(c.Context(), gateway, q, w) })
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "the agent")
	c.Flags().StringVar(&month, "month", "", "the month, such as 2026-11 (UTC)")
	c.Flags().StringVar(&currency, "currency", "", "the currency of the account; needed only if the agent has several")
	c.Flags().StringVar(&out, "out", "", "the file to write; an existing file is replaced")
	return c
}

// intoFile writes a file of mode 0600 in one step: if it fails, it leaves no partial file, and an existing file stays unchanged.
func intoFile(name string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".bundle-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := write(f); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// writeBundle writes the evidence of one account in a month.
func writeBundle(ctx context.Context, gateway *client.Client, q billing.EvidenceQuery, w io.Writer) error {
	if q.Currency == "" {
		var err error
		if q.Currency, err = onlyCurrency(ctx, gateway, q.Record); err != nil {
			return err
		}
	}
	q.Limit = 500
	page, err := gateway.Evidence(ctx, q)
	if err != nil {
		return err
	}
	b := evidence.NewBundleWriter(w, evidence.BundleHeader{
		Issuer: page.Issuer, Agent: q.ID, From: page.From, To: page.To, Proofs: &page.Proofs,
	})
	if err := writeKeys(ctx, gateway, b); err != nil {
		return err
	}
	parts := newBundleParts(gateway, q.Service)
	if err := parts.log(b, page.Log); err != nil {
		return err
	}
	first := page
	for {
		for _, p := range page.Since {
			b.Consistency(p.Old, p.New, p.Hashes)
		}
		for _, p := range page.Policies {
			parts.policy(b, p.UID, p.Digest, p.Document)
		}
		for _, e := range page.Entries {
			if err := parts.write(ctx, b, e); err != nil {
				return err
			}
		}
		if page.Next == "" {
			break
		}
		q.After, q.Epoch, q.Size = page.Next, parts.epoch, parts.size
		if page, err = gateway.Evidence(ctx, q); err != nil {
			return err
		}
	}
	b.Statement(first.Statement)
	b.Invoice(first.Invoice)
	return b.Close()
}

// onlyCurrency returns the currency of the agent's only account.
func onlyCurrency(ctx context.Context, gateway *client.Client, agent api.Record) (string, error) {
	list, err := gateway.Accounts(ctx, billing.AccountQuery{
		Service: agent.Service, AgentID: pat.AgentID(agent.ID), PageRequest: api.PageRequest{Limit: 2},
	})
	switch {
	case err != nil:
		return "", err
	case len(list.Items) == 0:
		return "", fmt.Errorf("agent %s has no account: it was never charged", agent.ID)
	case len(list.Items) > 1:
		return "", cli.Usage(fmt.Errorf("agent %s has accounts in several currencies, such as %s and %s: choose one with --currency", agent.ID,
			list.Items[0].Currency, list.Items[1].Currency))
	}
	return list.Items[0].Currency, nil
}

func writeKeys(ctx context.Context, gateway *client.Client, b *evidence.BundleWriter) error {
	list, err := gateway.Keys(ctx)
	if err != nil {
		return err
	}
	var all []keys.SigningKey
	for _, k := range list.Items {
		all = append(all, keys.SigningKey{ID: k.ID, Purpose: k.Purpose, JWK: k.JWK})
	}
	jwks, err := keys.SetOf(all)
	if err != nil {
		return err
	}
	b.Keys(jwks)
	return nil
}

// bundleParts writes entries. Before the first entry that refers to an agreement or a policy, it writes that document.
type bundleParts struct {
	gateway *client.Client
	service string
	written map[string]bool
	// epoch and size belong to the newest checkpoint that was written.
	epoch, size int64
}

func newBundleParts(gateway *client.Client, service string) *bundleParts {
	return &bundleParts{gateway: gateway, service: service, written: map[string]bool{}}
}

func (a *bundleParts) write(ctx context.Context, b *evidence.BundleWriter, line billing.EvidenceLine) error {
	r, err := evidence.ParseReceipt(line.Receipt)
	if err != nil {
		return err
	}
	e := r.Entry
	if e.Agreement != "" && !a.written[e.Agreement] {
		a.written[e.Agreement] = true
		text, err := a.gateway.ExportAgreement(ctx, api.Record{Service: a.service, ID: e.Agreement})
		if err != nil {
			return fmt.Errorf("exporting agreement %s: %w", e.Agreement, err)
		}
		if err := a.policyOf(b, text); err != nil {
			return err
		}
		b.Agreement(text)
	}
	if line.Asked != "" {
		b.Decision(e.ID, []byte(line.Asked))
	}
	b.Entry(line.Receipt)
	if line.Proof != "" {
		b.Proof(e.ID, line.Proof)
	}
	return a.proof(b, &r, line)
}

// log writes the entries that belong to no account, and then the proofs that they are in the log: an entry may introduce the key of the
// checkpoint.
func (a *bundleParts) log(b *evidence.BundleWriter, list []billing.EvidenceLine) error {
	for _, line := range list {
		b.Entry(line.Receipt)
	}
	for _, line := range list {
		r, err := evidence.ParseReceipt(line.Receipt)
		if err != nil {
			return err
		}
		if err := a.proof(b, &r, line); err != nil {
			return err
		}
	}
	return nil
}

// proof writes the proof that an entry is in the log, and its checkpoint unless it was written before.
func (a *bundleParts) proof(b *evidence.BundleWriter, r *evidence.Receipt, line billing.EvidenceLine) error {
	if line.Logged == "" {
		return nil
	}
	b.LogProof(r.Leaf, line.Logged)
	proof, err := log.ParseProof([]byte(line.Logged))
	if err != nil {
		return err
	}
	if text := string(proof.Checkpoint); !a.written[text] {
		a.written[text] = true
		c, err := log.ReadCheckpoint(proof.Checkpoint)
		if err != nil {
			return err
		}
		a.epoch, a.size = r.Entry.Epoch, c.Size
		b.Checkpoint(text)
	}
	return nil
}

// policyOf writes the policy in the export of an agreement, unless it was written before.
func (a *bundleParts) policyOf(b *evidence.BundleWriter, export []byte) error {
	var exported struct {
		Policy struct{ UID, Digest, Document string }
	}
	if err := json.Unmarshal(export, &exported); err != nil {
		return err
	}
	p := exported.Policy
	document, err := base64.RawURLEncoding.DecodeString(p.Document)
	if err != nil {
		return err
	}
	a.policy(b, p.UID, p.Digest, document)
	return nil
}

// policy writes a policy, unless it was written before.
func (a *bundleParts) policy(b *evidence.BundleWriter, uid, digest string, document []byte) {
	if !a.written[digest] {
		a.written[digest] = true
		b.Policy(uid, digest, document)
	}
}
