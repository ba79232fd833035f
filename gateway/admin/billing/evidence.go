package billing

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/service"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/receipt"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// AccountEvidence proves the charges of one account in a calendar month (UTC).
type AccountEvidence struct {
	Issuer   string    `json:"issuer"`
	Currency string    `json:"currency"`
	From     time.Time `json:"from"`
	To       time.Time `json:"to"` // the start of the next month
	Proofs   bool      `json:"proofs"`
	// Policies are the policies that decided the charges on this page.
	Policies []EvidencePolicy `json:"policies,omitempty"`
	// Log contains the entries of the log that belong to no account: they introduce the keys of receipts and checkpoints,
	// and begin epochs. Only the first page has them.
	Log     []EvidenceLine `json:"log,omitempty"`
	Entries []EvidenceLine `json:"entries"`
	Next    string         `json:"next,omitempty"` // the cursor of the next page
	// Since contains proofs that the logs have only grown since the previous page; see EvidenceQuery.Epoch.
	Since     []Consistency `json:"since,omitempty"`
	Statement string        `json:"statement,omitempty"` // compact JWS; only on the first page
	Invoice   string        `json:"invoice,omitempty"`   // compact JWS of all accounts of the agent; only on the first page
}

// An EvidenceLine is one entry of the ledger.
type EvidenceLine struct {
	Receipt string `json:"receipt"`         // compact JWS
	Asked   string `json:"asked,omitempty"` // the question that the policy decided; only in the first line of an execution
	Proof   string `json:"proof,omitempty"` // proof of key; only in the first line of an execution
	// Logged is the proof that the entry is in the log, with the checkpoint (C2SP tlog-proof); empty if it is not in the log yet.
	Logged string `json:"logged,omitempty"`
}

// An EvidencePolicy is a policy document, byte for byte as it was offered.
type EvidencePolicy struct {
	UID      string `json:"uid"`
	Digest   string `json:"digest"`
	Document []byte `json:"document"`
}

// An EvidenceQuery selects an account and a month.
type EvidenceQuery struct {
	api.Record // identifies the agent
	api.PageRequest
	Month    string `query:"month"` // such as 2026-11
	Currency string `query:"currency"`
	// Epoch and Size are those of the newest checkpoint on the previous page; Size is 0 on the first page.
	Epoch int64 `query:"epoch"`
	Size  int64 `query:"size"`
}

var errNoReceipts = errors.New("this gateway has no key for receipts")

// Evidence returns the entries of an account in a month, a page at a time. Errors: store.ErrNotFound if the account does not exist,
// *store.ForgottenError.
func (o *Operations) Evidence(ctx context.Context, s *service.Service, q EvidenceQuery) (AccountEvidence, error) {
	from, err := o.month(q.Month)
	if err != nil {
		return AccountEvidence{}, err
	}
	if o.Receipts == nil {
		return AccountEvidence{}, errNoReceipts
	}
	out := AccountEvidence{
		Issuer: s.Issuer, Currency: q.Currency, From: from, To: from.AddDate(0, 1, 0), Proofs: o.Receipts.Proofs(),
		Entries: []EvidenceLine{},
	}
	f := store.StatementFilter{Service: s.ID, AgentID: pat.AgentID(q.ID), From: out.From, To: out.To, Limit: api.MaxLimit}
	prover := prover{ctx: ctx, logs: o.Logs, service: f.Service, heads: map[int64]store.LogHead{}}
	if q.After != "" { // the entries of the first page's statement, even if there are more since
		after, last, ok := parseEvidenceCursor(q.After)
		if !ok {
			return AccountEvidence{}, api.WrongParameter("after", "must be the value of next on the previous page")
		}
		err := o.evidence(ctx, f, q, after, last, &prover, &out)
		return out, err
	}
	list, err := o.Store.Statements(ctx, f)
	if err != nil {
		return AccountEvidence{}, err
	}
	sum, err := receipt.Of(list, s.Issuer, f.AgentID, q.Currency)
	if err != nil {
		return AccountEvidence{}, err
	}
	if o.Logs != nil {
		if out.Log, sum.Checkpoint, err = prover.entries(); err != nil {
			return AccountEvidence{}, err
		}
	}
	if err := o.sign(ctx, s, q, list, sum, &out); err != nil || sum.Range.From == nil {
		return out, err
	}
	err = o.evidence(ctx, f, q, *sum.Range.From-1, *sum.Range.To, &prover, &out)
	return out, err
}

// EvidenceCursor returns the cursor of a page. The page begins after the entry with the number after, and ends at the entry with the number
// last or before it.
func EvidenceCursor(after, last int64) string {
	return strconv.FormatInt(after, 10) + "-" + strconv.FormatInt(last, 10)
}

func parseEvidenceCursor(text string) (after, last int64, ok bool) {
	first, second, _ := strings.Cut(text, "-")
	after, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	last, err = strconv.ParseInt(second, 10, 64)
	return after, last, err == nil && 0 <= after && after < last
}

// sign adds the signed statement and the signed invoice. Both cover the same entries.
func (o *Operations) sign(
	ctx context.Context, s *service.Service, q EvidenceQuery, list []store.Statement, sum receipt.SignedStatement, out *AccountEvidence,
) (err error) {
	if out.Statement, err = o.Receipts.Document(ctx, evidence.TypeStatement, sum); err != nil {
		return err
	}
	invoice, err := o.invoice(ctx, s, InvoiceQuery{Record: q.Record, Month: q.Month}, list)
	if err != nil {
		return err
	}
	out.Invoice, err = o.Receipts.Document(ctx, evidence.TypeInvoice, SignedInvoice{invoice, q.Currency, sum.Range, sum.Checkpoint})
	return err
}

// A SignedInvoice is the payload of a signed invoice: the invoice, and the part of the chain of one account that it covers.
type SignedInvoice struct {
	Invoice
	Currency string `json:"currency"` // the currency of the chain
	evidence.Range
	Checkpoint string `json:"checkpoint,omitempty"` // newest checkpoint of the log when the invoice was made
}

// evidence adds the entries after an entry, up to and including last.
func (o *Operations) evidence(
	ctx context.Context, f store.StatementFilter, q EvidenceQuery, after, last int64, prover *prover, out *AccountEvidence,
) error {
	list, err := o.Store.Entries(ctx, store.EntryFilter{
		Service: f.Service, AgentID: f.AgentID, Currency: q.Currency, After: after, Limit: q.Max(), Evidence: true,
	})
	if err != nil {
		return err
	}
	policies := map[string]bool{}
	for _, e := range list {
		if e.K > last {
			break
		}
		if err := o.addPolicy(ctx, f.Service, e.Bytes, policies, out); err != nil {
			return err
		}
		line := EvidenceLine{Asked: string(e.Decision), Proof: e.Proof}
		if line.Receipt, err = o.Receipts.Receipt(ctx, e.Bytes); err != nil {
			return err
		}
		if o.Logs != nil {
			if line.Logged, err = prover.prove(e); err != nil {
				return err
			}
		}
		out.Entries = append(out.Entries, line)
	}
	if out.Since, err = prover.since(map[int64]int64{q.Epoch: q.Size}); err != nil {
		return err
	}
	if n := len(list); n == q.Max() && list[n-1].K < last {
		out.Next = EvidenceCursor(list[n-1].K, last)
	}
	return nil
}

// addPolicy adds the policy that an entry names, unless it is one of added.
func (o *Operations) addPolicy(ctx context.Context, service string, entry []byte, added map[string]bool, out *AccountEvidence) error {
	e, err := evidence.ParseEntry(entry)
	if err != nil || e.Policy == "" || added[e.Policy] {
		return err
	}
	added[e.Policy] = true
	p, err := o.Store.Policy(ctx, service, e.Policy)
	if errors.Is(err, pat.ErrNotFound) {
		return nil // verifiers report that the policy is missing
	}
	if err != nil {
		return err
	}
	out.Policies = append(out.Policies, EvidencePolicy{p.UID, p.Digest, p.Bytes})
	return nil
}
