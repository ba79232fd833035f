package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// proven measures what the evidence of charges takes on SQLite: the size of a receipt, the size of the database for each charge, and how
// fast verify-ledger rebuilds every entry. It measures with and without the texts of proofs (evidence.proofs). The best round counts.
func proven(ctx context.Context, p plan) error {
	dir, err := os.MkdirTemp("", "uimgate-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	table := newTable("proofs\tcharges\treceipt B\tB/charge\tverify-ledger lines/s\tCPU s/1e6 lines\t")
	for _, proofs := range []bool{false, true} {
		path := filepath.Join(dir, fmt.Sprintf("%t.db", proofs))
		receipt, err := chargeProven(ctx, path, p, proofs)
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		var rate, cpu float64
		for range p.rounds {
			began, before := time.Now(), currentUsage().CPU
			found, err := sqlstore.Verify(ctx, path)
			if err != nil {
				return err
			}
			took := (currentUsage().CPU - before).Seconds() * 1e6 / float64(found.Entries)
			if rate = max(rate, float64(found.Entries)/time.Since(began).Seconds()); cpu == 0 || took < cpu {
				cpu = took
			}
		}
		fmt.Fprintf(table, "%t\t%d\t%d\t%.0f\t%.0f\t%.1f\t\n", proofs, p.calls, receipt, float64(info.Size())/float64(p.calls), rate, cpu)
	}
	return table.Flush()
}

// chargeProven makes p.calls charges in a new database, and returns the size of the longest receipt.
func chargeProven(ctx context.Context, path string, p plan, proofs bool) (receipt int64, err error) {
	s, err := sqlstore.Open(ctx, path, sqlstore.Options{Now: time.Now})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return 0, err
	}
	var next, longest atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range 64 {
		group.Go(func() error {
			for n := next.Add(1); n <= int64(p.calls); n = next.Add(1) {
				entry, err := provenCharge(ctx, s, n, p.agents, proofs)
				if err != nil {
					return err
				}
				text, err := evidence.SignReceipt(key, evidenceKeyID, entry)
				if err != nil {
					return err
				}
				for was := longest.Load(); was < int64(len(text)) && !longest.CompareAndSwap(was, int64(len(text))); was = longest.Load() {
				}
			}
			return nil
		})
	}
	err = group.Wait()
	return longest.Load(), err
}

// evidenceKeyID is as long as a thumbprint.
const evidenceKeyID = "0123456789012345678901234567890123456789012"

// provenCharge makes a call whose evidence has the form and the length of a gateway's: ids, digests, a question and a proof of key. It
// returns the entry of the captured charge.
func provenCharge(ctx context.Context, s *sqlstore.Store, n int64, agents int, proofs bool) ([]byte, error) {
	agent, intent := fmt.Sprintf("agent-%d", n%int64(agents)), uidOf("declared", sizes[0].products)
	digest, token := evidence.Digest(fmt.Append(nil, n)), fmt.Sprintf("%026d", n%int64(agents))
	question := odrl.Reproduction{
		Question: odrl.Question{
			Party: agent, Action: "execute", Target: intent,
			Context: map[string]any{"publicKey": "MCowBQYDK2VwAyEA" + evidenceKeyID + "="},
		},
		World:    odrl.WorldState{Now: time.Now(), PartOf: []odrl.Membership{{Member: intent, Collection: "https://" + issuer + "/api/intents"}}},
		DutyMode: odrl.DutiesNotViolated,
	}
	asked, err := question.AppendJSON(nil)
	if err != nil {
		return nil, err
	}
	encode := base64.RawURLEncoding.EncodeToString
	proof := encode([]byte(`{"alg":"EdDSA","kid":"`+evidenceKeyID+`","typ":"uim-proof+jwt"}`)) + "." +
		encode(fmt.Appendf(nil, `{"aud":%q,"digest":%q,"iat":%d,"jti":%q,"pat":%q}`, issuer, digest[8:], time.Now().Unix(), rand.Text(), token)) +
		"." + encode([]byte(digest + digest)[:ed25519.SignatureSize])
	v := &store.Evidence{KeyID: evidenceKeyID, Proof: evidence.Digest([]byte(proof)), Decision: evidence.Digest(asked)}
	if v.Text = (&store.EvidenceText{Asked: asked}); proofs {
		v.Text.Proof = proof
	}
	id := fmt.Sprintf("01920000-0000-7000-8000-%012d", n%int64(agents))
	admission, err := s.Begin(ctx, store.BeginRequest{
		Execution: store.Execution{
			ID: uuid.Must(uuid.NewV7()).String(), Service: issuer, AgentID: pat.AgentID(agent),
			Intent: intent, AgreementID: pat.AgreementID(id), TokenID: pat.TokenID(token),
			PolicyDigest: evidence.Digest(nil), Fingerprint: digest[8:], Evidence: v,
		},
		Candidates: []store.Candidate{{Rule: "/permission/0", Charge: money.Amount{Nano: money.Unit / 100, Currency: "USD"}}},
		Billing:    store.Billing{Credit: money.Amount{Nano: 1 << 60, Currency: "USD"}}, Hold: time.Minute,
	})
	if err != nil {
		return nil, err
	}
	x, err := s.Settle(ctx, admission, store.Settlement{State: store.Captured, Outcome: store.Done, Sent: digest})
	return x.Entry, err
}
