package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/gateway/receipt"
	"github.com/uimgate/uimgate/internal/money"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/store"
)

// keySet returns the keys that the service publishes.
func keySet(g *gatetest.Gate) evidence.KeySet {
	g.Helper()
	set, err := evidence.ParseKeySet(g.Get("/.well-known/jwks.json").Body)
	g.Must(err)
	return set
}

// get sends a GET request with a PAT; an empty token sends none.
func get(g *gatetest.Gate, path, token string) gatetest.Answer {
	g.Helper()
	if token == "" {
		return g.Get(path)
	}
	return g.Get(path, "Authorization", "Bearer "+token)
}

// receiptOf verifies a receipt with the published keys.
func receiptOf(g *gatetest.Gate, text string) evidence.Entry {
	g.Helper()
	r, err := evidence.ParseReceipt(text)
	g.Must(err)
	g.Must(r.Verify(keySet(g)))
	return r.Entry
}

func TestChargesAreAnsweredWithReceipts(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	first := g.Execute(a, gatetest.Ordering, "Idempotency-Key", "one")
	e := receiptOf(g, first.Header.Get("UIM-Receipt"))
	if e.To != "captured" || e.From != "held" || e.Account.Agent != "agent-1" || e.Answer != evidence.Digest(first.Body) || e.AnswerForm != "" ||
		e.Outcome != "done" || e.K != 1 || e.Rule == "" || e.Intent != gatetest.Ordering || e.Decision == "" || e.KeyID == "" || e.Proof != "" ||
		!strings.Contains(first.Header.Get("UIM-Charge"), e.Amount.String()+"; id="+e.ID) {
		t.Errorf("got %s, want the call of %s", e.Append(nil), first.Header.Get("UIM-Charge"))
	}
	again := g.Execute(a, gatetest.Ordering, "Idempotency-Key", "one")
	if got := receiptOf(g, again.Header.Get("UIM-Receipt")); string(got.Append(nil)) != string(e.Append(nil)) {
		t.Errorf("replayed: got %s, want %s", got.Append(nil), e.Append(nil))
	}
	fetched := get(g, "/api/receipts/"+e.ID, a.Token)
	if fetched.Status != http.StatusOK || fetched.Header.Get("Content-Type") != evidence.MediaTypeReceipt ||
		string(receiptPayload(g, string(fetched.Body))) != string(e.Append(nil)) {
		t.Errorf("fetched: %d %s", fetched.Status, fetched.Body)
	}
	held := receiptOf(g, string(get(g, "/api/receipts/"+e.ID+"?line=held", a.Token).Body))
	if held.K != 0 || held.To != "held" || e.Prev != evidence.LeafHash(held.Append(nil)) {
		t.Errorf("got %s, want the beginning of %s", held.Append(nil), e.Append(nil))
	}
}

func receiptPayload(g *gatetest.Gate, text string) []byte {
	g.Helper()
	e := receiptOf(g, text)
	return e.Append(nil)
}

func TestReceiptsAreScoped(t *testing.T) {
	g := gatetest.New(t, "")
	a, other := g.Agreed("agent-1"), g.Agreed("agent-2")
	e := receiptOf(g, g.Execute(a, gatetest.Ordering).Header.Get("UIM-Receipt"))
	for _, tt := range []struct {
		path, token, reason string
		status              int
	}{
		{"/api/receipts/" + e.ID, other.Token, "RECEIPT_NOT_FOUND", http.StatusNotFound},
		{"/api/receipts/nothing", other.Token, "RECEIPT_NOT_FOUND", http.StatusNotFound},
		{"/api/receipts/" + e.ID + "?line=released", a.Token, "RECEIPT_NOT_FOUND", http.StatusNotFound},
		{"/api/receipts/" + e.ID + "?line=other", a.Token, "INVALID_PARAMETER", http.StatusBadRequest},
		{"/api/receipts/" + e.ID, "", "MISSING_TOKEN", http.StatusUnauthorized},
		{"/api/usage/entries", "", "MISSING_TOKEN", http.StatusUnauthorized},
		{"/api/usage/entries?after=x", a.Token, "INVALID_PARAMETER", http.StatusBadRequest},
		{"/api/usage/entries?after=-2", a.Token, "INVALID_PARAMETER", http.StatusBadRequest},
	} {
		g.Refuses(get(g, tt.path, tt.token), tt.status, tt.reason)
	}
	for path, want := range map[string]string{
		"/api/usage/entries?currency=USD": `{"entries":[],"head":null}`,
	} {
		if got := strings.TrimSpace(string(get(g, path, a.Token).Body)); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	if got := strings.TrimSpace(string(get(g, "/api/usage/entries", other.Token).Body)); got != `{"entries":[],"head":null}` {
		t.Errorf("another agent got %s", got)
	}
}

func TestEntriesAreWholeChains(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	for range 40 {
		g.Execute(a, gatetest.Ordering)
	}
	var last evidence.Receipt
	after, count := "?after=-1", 0
	for {
		var page struct {
			Entries []string `json:"entries"`
			Head    struct {
				K    int64         `json:"k"`
				Hash evidence.Hash `json:"hash"`
			} `json:"head"`
		}
		g.Must(json.Unmarshal(get(g, "/api/usage/entries"+after, a.Token).Body, &page))
		for _, text := range page.Entries {
			r, err := evidence.ParseReceipt(text)
			g.Must(err)
			g.Must(r.Verify(keySet(g)))
			if count > 0 && (r.Entry.K != last.Entry.K+1 || r.Entry.Prev != last.Leaf) {
				t.Fatalf("entry %d does not follow entry %d", r.Entry.K, last.Entry.K)
			}
			last = r
			count++
		}
		if last.Entry.K == page.Head.K {
			if last.Leaf != page.Head.Hash {
				t.Error("the head is not the hash of the last entry")
			}
			break
		}
		after = "?currency=EUR&after=" + string(json.Number(jsonInt(last.Entry.K)))
	}
	if count != 80 {
		t.Errorf("%d entries, want 80", count)
	}
}

// A page begins after the entry that the client read last.
func TestEntriesBeginAfter(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	g.Execute(a, gatetest.Ordering)
	for after, want := range map[string]int{"-1": 2, "0": 1, "1": 0, "99": 0} {
		var page struct{ Entries []string }
		g.Must(json.Unmarshal(get(g, "/api/usage/entries?after="+after, a.Token).Body, &page))
		if len(page.Entries) != want {
			t.Errorf("after %s: %d entries, want %d", after, len(page.Entries), want)
		}
	}
}

func jsonInt(n int64) string {
	text, _ := json.Marshal(n)
	return string(text)
}

// The response to a call of unknown outcome has no receipt. The agent can fetch the newest entry of the charge.
func TestPendingChargeHasNoReceipt(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	g.BreakOff()
	lost := g.Execute(a, gatetest.Ordering)
	charge := lost.Header.Get("UIM-Charge")
	_, rest, _ := strings.Cut(charge, "id=")
	id, _, _ := strings.Cut(rest, ";")
	if !strings.Contains(charge, "state=pending") || lost.Header.Get("UIM-Receipt") != "" {
		t.Errorf("got %d %v", lost.Status, lost.Header)
	}
	if got := unreceipted(g); got != 0 {
		t.Errorf("%v receipts are missing, want 0", got)
	}
	if e := receiptOf(g, string(get(g, "/api/receipts/"+id, a.Token).Body)); e.From != "held" || e.To != "unresolved" {
		t.Errorf("got %s, want an unresolved charge", e.Append(nil))
	}
}

// Requests about an agent's account must name its currency if there are several.
func TestAccountsOfSeveralCurrencies(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	g.Execute(a, gatetest.Ordering)
	dollar := money.Amount{Nano: money.Unit, Currency: "USD"}
	_, err := g.Store.TopUp(t.Context(), store.TopUp{Service: "default", AgentID: "agent-1", Amount: dollar})
	g.Must(err)
	month := "month=" + g.Now().UTC().Format("2006-01")
	for _, path := range []string{"/api/usage/entries?", "/api/usage/statement?" + month + "&"} {
		answer := get(g, path, a.Token)
		g.Refuses(answer, http.StatusBadRequest, "INVALID_PARAMETER")
		if !strings.Contains(string(answer.Body), `"currencies":["EUR","USD"]`) {
			t.Errorf("%s: got %s, want the currencies", path, answer.Body)
		}
		for _, currency := range []string{"EUR", "USD"} {
			if got := get(g, path+"currency="+currency, a.Token); got.Status != http.StatusOK {
				t.Errorf("%s in %s: %d %s", path, currency, got.Status, got.Body)
			}
		}
	}
}

// A refused call that holds its charge for a moment has a receipt for its release.
func TestReleasedChargeHasReceipt(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }
	failed := g.Execute(a, gatetest.Ordering)
	e := receiptOf(g, failed.Header.Get("UIM-Receipt"))
	if e.To != "released" || e.Outcome != "failed" || e.Answer != "" {
		t.Errorf("got %s", e.Append(nil))
	}
}

func TestStatementIsSigned(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	for range 3 {
		g.Execute(a, gatetest.Ordering)
	}
	month := g.Now().UTC().Format("2006-01")
	answer := get(g, "/api/usage/statement?month="+month, a.Token)
	payload, err := evidence.VerifyDocument(string(answer.Body), evidence.TypeStatement, keySet(g))
	g.Must(err)
	var s receipt.SignedStatement
	g.Must(json.Unmarshal(payload, &s))
	var page struct{ Head evidence.Head }
	g.Must(json.Unmarshal(get(g, "/api/usage/entries", a.Token).Body, &page))
	if *s.Range.From != 0 || *s.Range.To != 5 || s.Range.Opening != nil || *s.Range.Closing != page.Head ||
		s.Statement.Closing.Captured != "0.75" ||
		s.AgentID != "agent-1" || s.Currency != "EUR" || s.Issuer == "" {
		t.Errorf("got %s, want three charges", payload)
	}
	for path, want := range map[string]string{
		"?month=x": "INVALID_PARAMETER", "": "INVALID_PARAMETER", "?month=2999-01": "INVALID_PARAMETER",
		"?currency=USD&month=" + month: "RECEIPT_NOT_FOUND",
	} {
		if got := get(g, "/api/usage/statement"+path, a.Token); string(got.Reason()) != want {
			t.Errorf("%s: got %d %s, want %s", path, got.Status, got.Body, want)
		}
	}
	g.Later(40 * 24 * time.Hour)
	if status := g.AgreeAgain(a); status != http.StatusOK {
		t.Fatalf("agreeing again: %d, want 200", status)
	}
	later := get(g, "/api/usage/statement?month="+g.Now().UTC().Format("2006-01"), a.Token)
	payload, err = evidence.VerifyDocument(string(later.Body), evidence.TypeStatement, keySet(g))
	g.Must(err)
	var empty receipt.SignedStatement
	g.Must(json.Unmarshal(payload, &empty))
	if empty.Range.From != nil || empty.Range.To != nil || *empty.Range.Opening != page.Head || *empty.Range.Closing != page.Head {
		t.Errorf("got %s, want a month without entries", payload)
	}
}

// The refusal of a month whose entries were deleted names the entry that has their sums.
func TestStatementOfDeletedEntriesNamesTheirCarry(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	g.Execute(a, gatetest.Ordering)
	month := g.Now().UTC().Format("2006-01")
	g.Later(401 * 24 * time.Hour)
	_, err := g.Store.Purge(t.Context())
	g.Must(err)
	if status := g.AgreeAgain(a); status != http.StatusOK {
		t.Fatalf("agreeing again: %d, want 200", status)
	}
	answer := get(g, "/api/usage/statement?month="+month, a.Token)
	if answer.Status != http.StatusGone || !strings.Contains(string(answer.Body), `"carry":{"k":2}`) {
		t.Errorf("got %d %s, want the carry 2", answer.Status, answer.Body)
	}
}

func TestReceiptsCanBeTurnedOff(t *testing.T) {
	g := gatetest.New(t, "evidence: {receipts: off}\nservices:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+
		gatetest.Unproved+"}\n")
	a := g.Agreed("agent-1")
	done := g.Execute(a, gatetest.Ordering)
	if done.Header.Get("UIM-Receipt") != "" {
		t.Error("there is a receipt")
	}
	_, rest, _ := strings.Cut(done.Header.Get("UIM-Charge"), "id=")
	id, _, _ := strings.Cut(rest, ";")
	if e := receiptOf(g, string(get(g, "/api/receipts/"+id, a.Token).Body)); e.To != "captured" {
		t.Errorf("got %s", e.Append(nil))
	}
}

// The envelope of the draft contains the same bytes that the receipt covers.
func TestDraftEnvelopeHasReceipt(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"order": "<&> 7"}`)) }
	done := g.Execute(a, gatetest.Ordering, "UIM-Version", "1.0")
	var body struct {
		Data json.RawMessage `json:"data"`
		Meta struct {
			Receipt string `json:"receipt"`
		} `json:"meta"`
	}
	g.Must(json.Unmarshal(done.Body, &body))
	if e := receiptOf(g, body.Meta.Receipt); e.Answer != evidence.Digest(body.Data) ||
		!strings.Contains(string(done.Body), string(body.Data)) {
		t.Errorf("got %s for %s", e.Append(nil), done.Body)
	}
}

// A request for an entry that was deleted gets 410, and the number of the entry with the sums. Other agents do not learn that it existed.
func TestDeletedEntriesNameTheirCarry(t *testing.T) {
	g := gatetest.New(t, "")
	g.Later(time.Since(g.Now()) + time.Second) // the ids of executions contain the real time
	a, other := g.Agreed("agent-1"), g.Agreed("agent-2")
	e := receiptOf(g, g.Execute(a, gatetest.Ordering).Header.Get("UIM-Receipt"))
	g.Later(401 * 24 * time.Hour)
	_, err := g.Store.Purge(t.Context())
	g.Must(err)
	for _, agreed := range []*gatetest.Agent{a, other} {
		if status := g.AgreeAgain(agreed); status != http.StatusOK {
			t.Fatalf("agreeing again: %d, want 200", status)
		}
	}
	for _, path := range []string{"/api/receipts/" + e.ID, "/api/receipts/" + e.ID + "?line=held", "/api/usage/entries?after=0"} {
		answer := get(g, path, a.Token)
		g.Refuses(answer, http.StatusGone, "EVIDENCE_EXPIRED")
		if !strings.Contains(string(answer.Body), `"carry":{"k":2}`) {
			t.Errorf("%s: got %s, want the carry 2", path, answer.Body)
		}
	}
	g.Refuses(get(g, "/api/receipts/"+e.ID, other.Token), http.StatusNotFound, "RECEIPT_NOT_FOUND")
	var page struct{ Entries []string }
	g.Must(json.Unmarshal(get(g, "/api/usage/entries?after=-1", a.Token).Body, &page))
	if len(page.Entries) != 1 || receiptOf(g, page.Entries[0]).Kind != evidence.KindCarry {
		t.Errorf("got %v, want the carry", page.Entries)
	}
}

// otherKeys are introductions of the key of another process.
type otherKeys struct{}

func (otherKeys) LoggedKeys(context.Context) ([]store.LogKey, error) {
	return []store.LogKey{{Service: "default", Purpose: evidence.PurposeReceipt, KeyID: "other"}}, nil
}

// A call succeeds although its receipt cannot be signed. The gateway counts it, and the agent can fetch the receipt later.
func TestCallsSucceedWithoutReceipts(t *testing.T) {
	g := gatetest.New(t, "")
	g.Receipts.Await(otherKeys{}, g.Now)
	a := g.Agreed("agent-1")
	done := g.Execute(a, gatetest.Ordering)
	_, rest, _ := strings.Cut(done.Header.Get("UIM-Charge"), "id=")
	id, _, _ := strings.Cut(rest, ";")
	if done.Status != http.StatusOK || done.Header.Get("UIM-Receipt") != "" || !strings.Contains(rest, "state=captured") {
		t.Errorf("got %d %v", done.Status, done.Header)
	}
	if got := unreceipted(g); got != 1 {
		t.Errorf("got %v calls without a receipt, want 1", got)
	}
	for _, path := range []string{"/api/receipts/" + id, "/api/usage/entries"} {
		answer := get(g, path, a.Token)
		g.Refuses(answer, http.StatusServiceUnavailable, "STORE_UNAVAILABLE")
		if answer.Header.Get("Retry-After") != "1" {
			t.Errorf("%s: got %v, want Retry-After", path, answer.Header)
		}
	}
}

// unreceipted returns the number of charges that have ended without a receipt.
func unreceipted(g *gatetest.Gate) float64 {
	g.Helper()
	families, err := g.Metrics.Registry().Gather()
	g.Must(err)
	for _, f := range families {
		if f.GetName() == "uimgate_receipts_missing_total" {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	g.Fatal("there is no such metric")
	return 0
}
