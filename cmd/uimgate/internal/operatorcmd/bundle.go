package operatorcmd

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/client"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/internal/privatefile"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

func (o *operator) usageBundle() *cobra.Command {
	var agent, month, currency, out, entries string
	var most int64
	c := &cobra.Command{
		Use: "bundle", Short: "Write the evidence for the charges of an agent in a month to a file", Args: cli.Args(cobra.NoArgs),
		Long: `Bundle writes one file with everything that is needed to check the charges of an agent in a month without this gateway.
It contains every entry of the month with its signature, the decisions of the policy, the agent's proofs of key,
agreements, policies, keys, and the signed statement and invoice. It is JSON, one object per line, compressed with gzip;
docs/evidence.md describes it, and examples/evidence has two programs that check it.

The file contains the decisions about the agent's calls, but no parameters or outputs of calls.

Verifiers read at most 1,000,000 lines. A charge takes up to seven. If the month needs more, bundle writes nothing, and
names the entries that fit. Write them with --entries, and the other entries into further files. Such a file has no
statement and no invoice, because these cover the whole month. The last entry of a file and the first of the next one
show that none is missing between them.`,
		Example: "  uimgate usage bundle --agent agent-1 --month 2026-11 --out agent-1.jsonl.gz\n  node examples/evidence/verify.mjs agent-1.jsonl.gz",
		RunE: func(c *cobra.Command, _ []string) error {
			if agent == "" || month == "" || out == "" {
				return cli.Usage(errors.New("--agent, --month and --out are required"))
			}
			gateway, err := o.client(c.Context())
			if err != nil {
				return err
			}
			b := bundle{gateway: gateway, query: billing.EvidenceQuery{Record: o.record(agent), Month: month, Currency: currency}, most: most}
			if entries != "" {
				if b.part, err = parseEntryRange(entries); err != nil {
					return cli.Usage(err)
				}
			}
			if most < 1 || most > evidence.MostBundleLines {
				return cli.Usage(fmt.Errorf("--max-lines must be from 1 to %d", evidence.MostBundleLines))
			}
			return privatefile.Stream(out, func(w io.Writer) error { return b.write(c.Context(), w) })
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "the agent")
	c.Flags().StringVar(&month, "month", "", "the month, such as 2026-11 (UTC)")
	c.Flags().StringVar(&currency, "currency", "", "the currency of the account; needed only if the agent has several")
	c.Flags().StringVar(&entries, "entries", "", "the entries of the month to write, such as 0-99999, without the statement and the invoice")
	c.Flags().Int64Var(&most, "max-lines", evidence.MostBundleLines, "maximum number of lines in the file")
	c.Flags().StringVar(&out, "out", "", "the file to write; an existing file is replaced")
	return c
}

// A bundle is the evidence of one account in a month.
type bundle struct {
	gateway *client.Client
	query   billing.EvidenceQuery
	part    *entryRange // nil: the whole month
	most    int64       // lines
}

// write writes the bundle.
func (u *bundle) write(ctx context.Context, w io.Writer) error {
	q := u.query
	if q.Currency == "" {
		var err error
		if q.Currency, err = onlyCurrency(ctx, u.gateway, q.Record); err != nil {
			return err
		}
	}
	q.Limit = 500
	page, err := client.Do(ctx, u.gateway, operation.Evidence, q)
	if err != nil {
		return err
	}
	b := evidence.NewBundleWriter(w, evidence.BundleHeader{
		Issuer: page.Issuer, Agent: q.ID, From: page.From, To: page.To, Proofs: &page.Proofs,
	})
	b.LimitLines(u.most)
	if err := writeKeys(ctx, u.gateway, b); err != nil {
		return err
	}
	parts := newBundleParts(u.gateway, q.Service)
	if err := parts.log(b, page.Log); err != nil {
		return err
	}
	month, err := entriesOf(page.Statement)
	if err != nil {
		return err
	}
	if u.part != nil {
		return u.writePart(ctx, b, parts, q, page, month)
	}
	if err := u.writeEntries(ctx, b, parts, q, page); err != nil {
		return err
	}
	b.Statement(page.Statement)
	b.Invoice(page.Invoice)
	return closeBundle(b, parts, month)
}

// writeEntries writes the entries of a page and of all later pages. It stops at the first line that does not fit.
func (u *bundle) writeEntries(
	ctx context.Context, b *evidence.BundleWriter, parts *bundleParts, q billing.EvidenceQuery, page billing.AccountEvidence,
) (err error) {
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
			if b.Failed() {
				return nil
			}
		}
		if page.Next == "" {
			return nil
		}
		q.After, q.Epoch, q.Size = page.Next, parts.epoch, parts.size
		if page, err = client.Do(ctx, u.gateway, operation.Evidence, q); err != nil {
			return err
		}
	}
}

// closeBundle ends a bundle that should have the given entries. If they do not fit, the error names entries that do.
func closeBundle(b *evidence.BundleWriter, parts *bundleParts, wanted entryRange) error {
	err := b.Close()
	if !errors.Is(err, evidence.ErrBundleTooLarge) {
		return err
	}
	fits := entryRange{parts.first, min(parts.last, wanted.last-1)} // if all entries fit, the statement does not
	if fits.last < fits.first {
		return fmt.Errorf("%w: entry %d does not fit", err, wanted.first)
	}
	return fmt.Errorf("%w: write the entries %s into several files, the first with --entries %s, and the next one from entry %d on",
		err, wanted, fits, fits.last+1)
}

// writePart writes some entries of the month, without its statement and its invoice. page is the first page of the month.
func (u *bundle) writePart(
	ctx context.Context, b *evidence.BundleWriter, parts *bundleParts, q billing.EvidenceQuery, page billing.AccountEvidence, month entryRange,
) (err error) {
	part := *u.part
	if part.first < month.first || part.last > month.last {
		return cli.Usage(fmt.Errorf("--entries %s: the month has the entries %s", part, month))
	}
	if part.first > month.first {
		q.After, q.Epoch, q.Size = billing.EvidenceCursor(part.first-1, part.last), parts.epoch, parts.size
		if page, err = client.Do(ctx, u.gateway, operation.Evidence, q); err != nil {
			return err
		}
	} else if n := part.last - part.first + 1; n < int64(len(page.Entries)) {
		page.Entries, page.Next = page.Entries[:n], ""
	} else {
		page.Next = ""
		if last := part.first + int64(len(page.Entries)) - 1; last < part.last {
			page.Next = billing.EvidenceCursor(last, part.last)
		}
	}
	if err := u.writeEntries(ctx, b, parts, q, page); err != nil {
		return err
	}
	return closeBundle(b, parts, part)
}

// An entryRange is a range of entries of an account, by their numbers in its chain. The last one is included.
type entryRange struct{ first, last int64 }

func (r entryRange) String() string { return fmt.Sprintf("%d-%d", r.first, r.last) }

var errEntryRange = errors.New("--entries must be two numbers, such as 0-99999")

func parseEntryRange(text string) (*entryRange, error) {
	first, last, _ := strings.Cut(text, "-")
	from, err := strconv.ParseUint(first, 10, 63)
	if err != nil {
		return nil, errEntryRange
	}
	to, err := strconv.ParseUint(last, 10, 63)
	if err != nil || to < from {
		return nil, errEntryRange
	}
	return &entryRange{int64(from), int64(to)}, nil
}

// entriesOf returns the entries that a signed statement covers: an empty range, with last below first, if it covers none.
func entriesOf(statement string) (entryRange, error) {
	var covered evidence.Range
	parts := strings.Split(statement, ".")
	if len(parts) != 3 {
		return entryRange{}, errors.New("the gateway sent no signed statement")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return entryRange{}, err
	}
	if err := json.Unmarshal(payload, &covered); err != nil {
		return entryRange{}, err
	}
	if covered.From == nil || covered.To == nil {
		return entryRange{0, -1}, nil
	}
	return entryRange{*covered.From, *covered.To}, nil
}

// onlyCurrency returns the currency of the agent's only account.
func onlyCurrency(ctx context.Context, gateway *client.Client, agent api.Record) (string, error) {
	list, err := client.Do(ctx, gateway, operation.Accounts, billing.AccountQuery{
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
	list, err := client.Do(ctx, gateway, operation.Keys, operation.None{})
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
	// first and last are the numbers of the first and the last entry that were written completely; last is below first if there is none.
	first, last int64
}

func newBundleParts(gateway *client.Client, service string) *bundleParts {
	return &bundleParts{gateway: gateway, service: service, written: map[string]bool{}, last: -1}
}

func (a *bundleParts) write(ctx context.Context, b *evidence.BundleWriter, line billing.EvidenceLine) error {
	r, err := evidence.ParseReceipt(line.Receipt)
	if err != nil {
		return err
	}
	e := r.Entry
	if e.Agreement != "" && !a.written[e.Agreement] {
		a.written[e.Agreement] = true
		text, err := client.Do(ctx, a.gateway, operation.ExportAgreement, api.Record{Service: a.service, ID: e.Agreement})
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
	if err := a.proof(b, &r, line); err != nil || b.Failed() {
		return err // closeBundle returns the error of the bundle
	}
	if a.last < 0 {
		a.first = e.K
	}
	a.last = e.K
	return nil
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
