package sqlstore_test

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// Anyone who can write to the database and changes a charge leaves a trace, even if the accounts still add up.
func TestAlteredLedgerIsFound(t *testing.T) {
	t.Parallel()
	wantAltered(t, func(t *testing.T, s *sqlstore.Store) {
		t.Helper()
		_, err := s.TopUp(t.Context(), store.TopUp{Service: "s", AgentID: "agent-7", Amount: money.Amount{Nano: 1000, Currency: "USD"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"1", "2", "3"} {
			if err := paidCall(t.Context(), s, id); err != nil {
				t.Fatal(err)
			}
		}
	}, map[string]string{
		"a charge is deleted, and the account mended": `DELETE FROM ledger WHERE execution_id = '2'; DELETE FROM executions WHERE id = '2';
			UPDATE accounts SET captured = (SELECT SUM(amount) FROM executions)`,
		"the last charge is deleted, and the account mended": `DELETE FROM ledger WHERE execution_id = '3'; DELETE FROM executions WHERE id = '3';
			UPDATE accounts SET captured = (SELECT SUM(amount) FROM executions)`,
		"the last charge is deleted, and the chain cut": `DELETE FROM ledger WHERE execution_id = '3'; DELETE FROM executions WHERE id = '3';
			UPDATE accounts SET captured = (SELECT SUM(amount) FROM executions), lines = lines - 2`,
		"an amount is changed everywhere": `UPDATE ledger SET amount = amount + 1 WHERE execution_id = '2';
			UPDATE executions SET amount = amount + 1 WHERE id = '2'; UPDATE accounts SET captured = captured + 1`,
		"a charge is given to another agent": `UPDATE ledger SET agent_id = 'b' WHERE execution_id = '2';
			UPDATE executions SET agent_id = 'b' WHERE id = '2'; UPDATE accounts SET captured = captured - 3;
			INSERT INTO accounts (service, agent_id, currency, captured, lines) VALUES ('s', 'b', 'USD', 3, 1)`,
		"an intent is changed":        "UPDATE ledger SET intent = 'x' WHERE execution_id = '2'",
		"a time is changed":           "UPDATE ledger SET at = at + 1 WHERE execution_id = '2'",
		"an agreement is changed":     "UPDATE executions SET agreement_id = 'x' WHERE id = '2'",
		"a policy is changed":         "UPDATE executions SET policy_digest = 'x' WHERE id = '2'",
		"a key is changed":            "UPDATE executions SET key_id = 'x' WHERE id = '2'",
		"a decision is changed":       "UPDATE executions SET decision = 'x' WHERE id = '2'",
		"a proof is changed":          "UPDATE executions SET proof = 'x' WHERE id = '2'",
		"a request is changed":        "UPDATE executions SET fingerprint = 'x' WHERE id = '2'",
		"an outcome is changed":       "UPDATE ledger SET outcome = 'failed' WHERE execution_id = '2'",
		"an answer is changed":        "UPDATE ledger SET answer = 'x' WHERE execution_id = '2'",
		"an epoch is changed":         "UPDATE ledger SET epoch = 7 WHERE execution_id = '2'",
		"an execution is missing":     "DELETE FROM executions WHERE id = '2'",
		"two charges are exchanged":   "UPDATE ledger SET execution_id = CASE execution_id WHEN '1' THEN '2' ELSE '1' END WHERE execution_id IN ('1', '2')",
		"a top-up has another amount": "UPDATE ledger SET amount = amount + 1 WHERE to_state = ''; UPDATE accounts SET topped_up = topped_up + 1",
		"a top-up has another name":   "UPDATE ledger SET reference = 'x' WHERE to_state = ''",
		"the first entries are cut":   "DELETE FROM ledger WHERE to_state = ''; UPDATE accounts SET topped_up = 0",
		"the first entries are cut, and the account mended": `DELETE FROM ledger WHERE to_state = '';
			UPDATE accounts SET topped_up = 0, kept = 1`,
		"two entries have one hash":   "UPDATE ledger SET leaf = (SELECT leaf FROM ledger WHERE k = 1) WHERE k = 2",
		"all entries of an account":   "DELETE FROM ledger; DELETE FROM executions; UPDATE accounts SET topped_up = 0, captured = 0",
		"two entries have one number": "DROP INDEX ledger_chain; UPDATE ledger SET k = 1 WHERE k = 2",
		"credit from before there were chains": `INSERT INTO ledger (seq, at, service, agent_id, execution_id, intent, rule, amount, currency,
			from_state, to_state, actor) VALUES (1000, 1, 's', 'agent-7', '', '', '', 5, 'USD', '', '', 'operator');
			UPDATE accounts SET topped_up = topped_up + 5`,
		"credit from deleted entries": `INSERT INTO carried (service, agent_id, currency, topped_up, captured, held, until)
			VALUES ('s', 'agent-7', 'USD', 5, 0, 0, 1); UPDATE accounts SET topped_up = topped_up + 5`,
		"credit of an agent without entries": `INSERT INTO accounts (service, agent_id, currency, topped_up) VALUES ('s', 'b', 'USD', 5);
			INSERT INTO carried (service, agent_id, currency, topped_up, captured, held, until) VALUES ('s', 'b', 'USD', 5, 0, 0, 1)`,
		"the account names an entry with sums": "UPDATE accounts SET carried_by = 1",
		"a charge has a reference":             "UPDATE ledger SET reference = 'x' WHERE k = 2",
		"a charge has another kind":            "UPDATE ledger SET kind = 'x' WHERE k = 2",
		"a record has another amount":          "UPDATE executions SET amount = amount + 1 WHERE id = '2'",
		"a record has another intent":          "UPDATE executions SET intent = 'x' WHERE id = '2'",
		"a record has another rule":            "UPDATE executions SET rule = 'x' WHERE id = '2'",
		"a record has another state":           "UPDATE executions SET state = 'released' WHERE id = '2'",
		"a record has another outcome":         "UPDATE executions SET outcome = 'failed' WHERE id = '2'",
		"a record began at another time":       "UPDATE executions SET begun_at = begun_at + 1 WHERE id = '2'",
		"a record ended at another time":       "UPDATE executions SET settled_at = settled_at + 1 WHERE id = '2'",
		"a record is of another service":       "UPDATE executions SET service = 'x' WHERE id = '2'",
		"a record has no entries": `INSERT INTO executions (id, service, agent_id, idem_key, fingerprint, intent, agreement_id, token_id,
			policy_digest, rule, amount, currency, state, outcome, begun_at, deadline, settled_at, forget_at)
			VALUES ('4', 's', 'agent-7', '', '', '', '', '', '', '', 3, 'USD', 'captured', 'done', 1, 1, 1, 0)`,
	})
}

// Documents that entries name by a digest or an id cannot be exchanged undetected.
func TestAlteredTextsAreFound(t *testing.T) {
	t.Parallel()
	wantAltered(t, func(t *testing.T, s *sqlstore.Store) {
		t.Helper()
		for i, id := range []string{"1", "2"} {
			agreedCall(t, s, id, fmt.Sprintf(`{"uid": "p%d", "prices": [%d]}`, i, i))
		}
	}, map[string]string{
		"the bytes of a policy": `UPDATE policies SET body = (SELECT body FROM policies WHERE digest =
			(SELECT policy_digest FROM agreements WHERE id = '1')) WHERE digest = (SELECT policy_digest FROM agreements WHERE id = '2')`,
		"an agreement": `UPDATE agreements SET id = '3' WHERE id = '1'; UPDATE agreements SET id = '1' WHERE id = '2';
			UPDATE agreements SET id = '2' WHERE id = '3'`,
		"the agent of an agreement": "UPDATE agreements SET agent_id = 'agent-1' WHERE id = '2'",
		"the key of an agreement":   "UPDATE agreements SET public_key = (SELECT public_key FROM agreements WHERE id = '1') WHERE id = '2'",
		"a question":                "UPDATE evidence SET asked = (SELECT asked FROM evidence ORDER BY seq LIMIT 1)",
		"a missing question":        "DELETE FROM evidence WHERE seq = (SELECT MIN(seq) FROM evidence)",
		"a question elsewhere":      "UPDATE evidence SET seq = 1000 WHERE seq = (SELECT MIN(seq) FROM evidence)",
		"a proof of key":            "UPDATE evidence SET signed = (SELECT signed FROM evidence ORDER BY seq LIMIT 1)",
		"a second proof of key":     "UPDATE evidence SET proof = 'x' WHERE seq = (SELECT MIN(seq) FROM evidence)",
		"an unreadable question":    "UPDATE evidence SET asked = signed",
		"a service of texts":        "UPDATE evidence SET service = 'x' WHERE seq = (SELECT MIN(seq) FROM evidence)",
	})
}

// Agreements of charges that are missing, or that the agent did not sign as they are stored, are found.
func TestAlteredAgreementsAreFound(t *testing.T) {
	t.Parallel()
	const of1 = " WHERE id = '1'"
	changes := map[string]string{
		"":                        "",
		"an agreement is deleted": "DELETE FROM agreements" + of1,
		"a policy is deleted":     "DELETE FROM policies WHERE digest = (SELECT policy_digest FROM agreements" + of1 + ")",
		"another signature":       "UPDATE agreements SET signature = (SELECT signature FROM agreements WHERE id = '2')" + of1,
		"no signature":            "UPDATE agreements SET signature = ''" + of1,
		"another policy":          "UPDATE agreements SET policy_digest = (SELECT policy_digest FROM agreements WHERE id = '2')" + of1,
		"another uid of a policy": "UPDATE agreements SET policy_uid = 'x'" + of1,
		"another issuer":          "UPDATE agreements SET issuer = 'x'" + of1,
		"another agent":           "UPDATE agreements SET agent_id = 'agent-2'" + of1,
		"another key":             "UPDATE agreements SET key_id = 'x'" + of1,
		"another nonce":           "UPDATE agreements SET nonce = 'x'" + of1,
		"another scope":           `UPDATE agreements SET scope = '["x"]'` + of1,
		"another time":            "UPDATE agreements SET created_at = created_at - 1000000000000000" + of1,
		"another assurance":       "UPDATE agreements SET assurance = 'static'" + of1,
		"another form":            "UPDATE agreements SET form = 'jws-policy'" + of1,
	}
	for _, whole := range filledOnce(t, func(t *testing.T, place string) {
		t.Helper()
		s, err := sqlstore.Open(t.Context(), place, sqlstore.Options{Now: time.Now})
		must(t, err)
		for i, id := range []string{"1", "2"} {
			agreedCall(t, s, id, fmt.Sprintf(`{"uid": "p", "prices": [%d]}`, i))
		}
		must(t, s.CheckAgreements(t.Context()))
		must(t, s.Close())
	}) {
		for _, name := range whole.some(slices.Sorted(maps.Keys(changes))) {
			t.Run(whole.engine+"/"+name, func(t *testing.T) {
				t.Parallel()
				place := whole.copyWith(t, changes[name])
				want := name != ""
				if err := sqlstore.VerifyAgreements(t.Context(), place); errors.Is(err, store.ErrAltered) != want || (err != nil) != want {
					t.Errorf("got %v, want an error: %t", err, want)
				}
			})
		}
	}
}

// Documents of the books that differ from the ledger are found: refunds, moves of credit and invoices.
func TestAlteredDocumentsAreFound(t *testing.T) {
	t.Parallel()
	changes := map[string]string{
		"the last invoice is deleted":  "DELETE FROM invoices WHERE number = 2",
		"the first invoice is deleted": "DELETE FROM invoices WHERE number = 1",
		"all invoices are deleted":     "DELETE FROM invoices",
		"an invoice that was not issued": `INSERT INTO invoices SELECT service, 3, agent_id, '2020-01', document, at FROM invoices
			WHERE number = 1`,
		"an invoice has another number":   "UPDATE invoices SET number = 7 WHERE number = 2",
		"an invoice of another agent":     "UPDATE invoices SET agent_id = 'b' WHERE number = 1",
		"an invoice of another month":     "UPDATE invoices SET month = '2020-01' WHERE number = 1",
		"an invoice without its document": "UPDATE invoices SET document = '{}' WHERE number = 1",
		"an invoice that is not JSON":     "UPDATE invoices SET document = 'x' WHERE number = 1",
		"a refund is deleted":             "DELETE FROM refunds WHERE number = 2",
		"the first refund is deleted":     "DELETE FROM refunds WHERE number = 1",
		"a refund is deleted and not numbered": `DELETE FROM refunds WHERE number = 2;
			UPDATE document_numbers SET n = 1 WHERE kind = 'credit-note'`,
		"a refund that was not made":  refundCopy("3", "reference || 'x'"),
		"a refund has another charge": "UPDATE refunds SET charge = charge + 1 WHERE number = 1",
		"a refund has another amount": "UPDATE refunds SET amount = amount + 1 WHERE number = 1",
		"a refund has another time":   "UPDATE refunds SET at = at + 1 WHERE number = 1",
		"a refund has another place":  "UPDATE refunds SET k = k + 1 WHERE number = 1",
		"a refund of another agent":   "UPDATE refunds SET agent_id = 'b' WHERE number = 1",
		"a refund of another call":    "UPDATE refunds SET execution_id = '3' WHERE number = 1",
		"a refund of another intent":  "UPDATE refunds SET intent = 'x' WHERE number = 1",
		"a refund of another rule":    "UPDATE refunds SET rule = 'x' WHERE number = 1",
		"a refund of another day":     "UPDATE refunds SET charged_at = charged_at + 1 WHERE number = 1",
		"a refund with another name":  "UPDATE refunds SET reference = reference || 'x' WHERE number = 1",
		"a move of credit is deleted": "DELETE FROM credit_moves",
		"a move of credit that was not made": `INSERT INTO credit_moves SELECT service, 'y', from_agent, to_agent, amount, currency, reason, at
			FROM credit_moves`,
		"a move of credit has another amount":   "UPDATE credit_moves SET amount = amount + 1",
		"a move of credit has another source":   "UPDATE credit_moves SET from_agent = 'c'",
		"a move of credit has another target":   "UPDATE credit_moves SET to_agent = 'c'",
		"a move of credit has another time":     "UPDATE credit_moves SET at = at + 1",
		"a move of credit has another currency": "UPDATE credit_moves SET currency = 'EUR'",
		"a move of credit has another name":     "UPDATE credit_moves SET reference = 'y'",
	}
	for name, change := range map[string][2]string{
		"an invoice has another sum":        {`"amount":"0.000000006"}]`, `"amount":"0.000000007"}]`},
		"an invoice has another row":        {`3","amount":"0.000000006"`, `3","amount":"0.000000005"`},
		"an invoice has another price":      {`"unit_price":"0.000000003"`, `"unit_price":"0.000000004"`},
		"an invoice has another intent":     {`"intent":"shop.example:buy:v1"`, `"intent":"shop.example:sell:v1"`},
		"an invoice has another rule":       {`"rule":"r"`, `"rule":"q"`},
		"an invoice has more calls":         {`"calls":2`, `"calls":3`},
		"an invoice has no rows":            {`"rows":[`, `"others":[`},
		"an invoice has no totals":          {`"totals":[`, `"others":[`},
		"an invoice is for another service": {`"service":"s"`, `"service":"t"`},
	} {
		changes[name] = fmt.Sprintf("UPDATE invoices SET document = REPLACE(document, '%s', '%s') WHERE number = 1", change[0], change[1])
	}
	wantAltered(t, makeDocuments, changes)
}

// makeDocuments makes two charges, an invoice with them and one without charges, two refunds, and a move of credit.
func makeDocuments(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	for _, id := range []string{"1", "2"} {
		if err := paidCall(t.Context(), s, id); err != nil {
			t.Fatal(err)
		}
	}
	month := time.Now().UTC().Format("2006-01")
	sum := `"currency":"USD","calls":2,"unit_price":"0.000000003","amount":"0.000000006"}]`
	issueInvoice(t, s, "agent-7", month, `"rows":[{"intent":"shop.example:buy:v1","rule":"r",`+sum+`,"totals":[{`+
		strings.Replace(sum, `"unit_price":"0.000000003",`, "", 1))
	issueInvoice(t, s, "agent-8", month, `"rows":[],"totals":[{"currency":"USD","calls":0,"amount":"0.00"}]`)
	for _, id := range []string{"1", "2"} {
		amount := money.Amount{Nano: 1, Currency: "USD"}
		if _, _, err := s.Refund(t.Context(), store.Refund{Service: "s", ExecutionID: id, Amount: amount, Name: "n"}); err != nil {
			t.Fatal(err)
		}
	}
	usd := money.Amount{Nano: 1000, Currency: "USD"}
	if _, err := s.TopUp(t.Context(), store.TopUp{Service: "s", AgentID: "a", Amount: usd}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.MoveCredit(t.Context(), store.CreditMove{Service: "s", Reference: "x", From: "a", To: "b", Amount: usd}); err != nil {
		t.Fatal(err)
	}
}

// Refunds, moves of credit and invoices are kept longer than the entries of the ledger, and are deleted after ten years.
func TestDocumentsOutliveEntries(t *testing.T) {
	t.Parallel()
	place := filepath.Join(t.TempDir(), "state.db")
	sqlstore.Empty.Copy(t, place)
	var ahead atomic.Int64
	s, err := sqlstore.Open(t.Context(), place, sqlstore.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	makeDocuments(t, s)
	s.KeepLedger(time.Hour)
	for _, years := range []int64{0, 1, 11} {
		ahead.Store(years * int64(366*24*time.Hour))
		for range 2 { // the second time, entries with sums exist
			if _, err := s.Purge(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.CheckBalance(t.Context()); err != nil {
				t.Errorf("after %d years: %v", years, err)
			}
		}
		invoices, err := s.Invoices(t.Context(), store.InvoiceFilter{Service: "s"})
		refunds, refundsErr := s.Refunds(t.Context(), store.RefundFilter{Service: "s"})
		want := 2
		if years > 10 {
			want = 0
		}
		if err != nil || refundsErr != nil || len(invoices) != want || len(refunds) != want {
			t.Errorf("after %d years: %d invoices and %d refunds, want %d, %v, %v", years, len(invoices), len(refunds), want, err, refundsErr)
		}
	}
	next, _, err := s.IssueInvoice(t.Context(), store.Invoice{
		Service: "s", AgentID: "agent-9", Month: "2040-01", Document: []byte(`{"service":"s","agent_id":"agent-9",` +
			`"from":"2040-01-01T00:00:00Z","to":"2040-02-01T00:00:00Z","rows":[],"totals":[]}`),
	})
	if err != nil || next.Number != 3 {
		t.Errorf("got the number %d, %v", next.Number, err)
	}
	if err := s.CheckBalance(t.Context()); err != nil {
		t.Error(err)
	}
}

// refundCopy returns the statement that copies the first refund.
func refundCopy(number, reference string) string {
	return "INSERT INTO refunds (service, number, execution_id, agent_id, intent, rule, charge, amount, currency, charged_at, reference, " +
		"reason, at, k) " +
		"SELECT service, " + number + ", execution_id, agent_id, intent, rule, charge, amount, currency, charged_at, " + reference +
		", reason, at, k FROM refunds WHERE number = 1; UPDATE document_numbers SET n = 3 WHERE kind = 'credit-note'"
}

// issueInvoice issues an invoice for a month, with some members of the document.
func issueInvoice(t *testing.T, s *sqlstore.Store, agent pat.AgentID, month, members string) {
	t.Helper()
	from, err := time.Parse("2006-01", month)
	if err != nil {
		t.Fatal(err)
	}
	document := fmt.Sprintf(`{"service":"s","agent_id":%q,"from":%q,"to":%q,%s}`, agent, from.Format(time.RFC3339),
		from.AddDate(0, 1, 0).Format(time.RFC3339), members)
	issued := store.Invoice{Service: "s", AgentID: agent, Month: month, Document: []byte(document)}
	if _, _, err := s.IssueInvoice(t.Context(), issued); err != nil {
		t.Fatal(err)
	}
}

// wantAltered fills a database of each engine, closes it, and makes each change to a copy. Verify must find each change, and report nothing
// else.
func wantAltered(t *testing.T, fill func(*testing.T, *sqlstore.Store), changes map[string]string) {
	t.Helper()
	for _, whole := range filledOnce(t, func(t *testing.T, place string) {
		t.Helper()
		s, err := sqlstore.Open(t.Context(), place, sqlstore.Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := sqlstore.Verify(t.Context(), place); err != nil {
			t.Fatal(err)
		}
	}) {
		for _, name := range whole.some(slices.Sorted(maps.Keys(changes))) {
			t.Run(whole.engine+"/"+name, func(t *testing.T) {
				t.Parallel()
				place := whole.copyWith(t, changes[name])
				if _, err := sqlstore.Verify(t.Context(), place); !errors.Is(err, store.ErrAltered) && !errors.Is(err, store.ErrUnbalanced) {
					t.Errorf("got %v, want an error", err)
				}
			})
		}
	}
}

// agreedCall makes an agent agree to a policy, and charges a call under the agreement. All have the same id.
func agreedCall(t *testing.T, s *sqlstore.Store, id, policy string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := keys.New(public)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := pat.PolicyDigest([]byte(policy))
	if err != nil {
		t.Fatal(err)
	}
	agent, now, nonce := pat.AgentID("agent-"+id), time.Now(), "nonce-of-agreement-"+id
	signature, err := pat.SignAgreement(private, pat.AgreementClaims{
		AgentID: agent, Audience: "s", URL: "https://s.example/api/pat/issue", IssuedAt: now, PolicyUID: "p", PolicyDigest: digest, Nonce: nonce,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Agree(t.Context(), pat.NewAgreement{
		Agreement: pat.Agreement{
			ID: pat.AgreementID(id), Service: "s", Issuer: "s", AgentID: agent, PublicKey: key.SPKI(), KeyID: key.Thumbprint(), PolicyUID: "p",
			PolicyDigest: digest, Assurance: pat.Fresh, Form: "jws-agreement", Signature: []byte(signature), Nonce: nonce,
			State:     pat.AgreementActive,
			CreatedAt: now,
		},
		Policy:     pat.PolicyDocument{Service: "s", UID: "p", Digest: digest, Bytes: []byte(policy), FirstOffered: now},
		NonceUntil: now.Add(time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	asked, proof := []byte("question "+id), "proof "+id
	admission, err := s.Begin(t.Context(), store.BeginRequest{
		Execution: store.Execution{
			ID: id, Service: "s", AgentID: agent, Intent: "shop.example:buy:v1", AgreementID: pat.AgreementID(id), PolicyDigest: digest,
			Evidence: &store.Evidence{
				KeyID: string(key.Thumbprint()), Proof: evidence.Digest([]byte(proof)), Decision: evidence.Digest(asked),
				Text: &store.EvidenceText{Proof: proof, Asked: asked},
			},
		},
		Candidates: []store.Candidate{{Rule: "r", Charge: money.Amount{Nano: 3, Currency: "USD"}}},
		Billing:    store.Billing{Credit: money.Amount{Nano: money.Unit, Currency: "USD"}},
		Hold:       time.Minute,
	})
	if err == nil {
		_, err = s.Settle(t.Context(), admission, store.Settlement{State: store.Captured, Outcome: store.Done})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A database of a release without chains gets one for each account, which begins with its sums.
func TestAccountsFromBeforeGetChains(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir)
	for _, id := range []string{"1", "2"} {
		if err := paidCall(t.Context(), s, id); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const before = "UPDATE ledger SET k = -1, prev = x'', leaf = x'', outcome = ''; UPDATE accounts SET lines = 0, head = x''"
	if _, err := otherProcess(t, dir).ExecContext(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir)
	if err := paidCall(t.Context(), s, "3"); err != nil {
		t.Fatal(err)
	}
	list, err := s.Entries(t.Context(), store.EntryFilter{Service: "s", AgentID: "agent-7", Currency: "USD", After: -1})
	if err != nil || len(list) != 3 {
		t.Fatalf("got %d entries, %v; want a carry and two of the third call", len(list), err)
	}
	if err := s.CheckBalance(t.Context()); err != nil {
		t.Error(err)
	}
	s.KeepLedger(-time.Hour)
	for range 2 {
		if _, err := s.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.CheckBalance(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
