package agent_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/receipts"
	"github.com/uimgate/uimgate/evidence"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
	"github.com/uimgate/uimgate/pat/keys"
)

// accounted returns a service that gives receipts, and an agent that keeps them.
func accounted(tb testing.TB) (*agenttest.Service, *agent.Service) {
	tb.Helper()
	shop := agenttest.New(tb, agenttest.Canonical)
	shop.GiveReceipts()
	o := options(tb, shop)
	o.Receipts = filepath.Join(tb.TempDir(), "receipts")
	return shop, agreed(tb, o, shop.URL)
}

// placed places an order, and fails the test unless it succeeds.
func placed(tb testing.TB, s *agent.Service, o agent.ExecuteOptions) agent.Result {
	tb.Helper()
	result, err := s.Execute(tb.Context(), agenttest.Order, map[string]any{"query": "tea"}, o)
	if err != nil {
		tb.Fatal(err)
	}
	return result
}

func names(list []evidence.Problem) string {
	var out []string
	for _, p := range list {
		out = append(out, string(p.Name))
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}

func verifyReceipts(tb testing.TB, s *agent.Service) receipts.Report {
	tb.Helper()
	report, err := s.Book().Verify()
	if err != nil {
		tb.Fatal(err)
	}
	return report
}

func reconcile(tb testing.TB, s *agent.Service, p receipts.Period) receipts.Report {
	tb.Helper()
	report, err := s.Reconcile(tb.Context(), p)
	if err != nil {
		tb.Fatal(err)
	}
	return report
}

func TestReceiptsAreCheckedAndKept(t *testing.T) {
	t.Parallel()
	_, s := accounted(t)
	for n := range 3 {
		got := placed(t, s, agent.ExecuteOptions{})
		if r := got.Receipt; len(got.Discrepancies) > 0 || r == nil || r.Entry.K != int64(2*n+1) || r.Entry.Amount != got.Charge.Amount {
			t.Fatalf("call %d: got %+v, %v", n, got.Receipt, got.Discrepancies)
		}
	}
	before := placed(t, s, agent.ExecuteOptions{IdempotencyKey: "k"})
	replay := placed(t, s, agent.ExecuteOptions{IdempotencyKey: "k"})
	if !replay.Replayed || len(replay.Discrepancies) > 0 || replay.Receipt == nil || replay.Receipt.Leaf != before.Receipt.Leaf {
		t.Errorf("a replay: got %+v, want the receipt of the first call", replay.Evidence)
	}
	if _, err := s.Execute(t.Context(), agenttest.Search, nil, agent.ExecuteOptions{}); err != nil {
		t.Fatal(err)
	}
	report := verifyReceipts(t, s)
	if !report.OK || report.Calls != 4 || report.Receipts != 4 || report.Accounts[0].Missing != 3 || report.Accounts[0].Captured != nil {
		t.Errorf("verify: got %+v", report)
	}
	report = reconcile(t, s, receipts.Period{})
	if !report.OK || report.Receipts != 8 || report.Accounts[0].Missing != 0 || report.Accounts[0].Captured.String() != "0.04 USD" {
		t.Errorf("reconcile: got %+v", report)
	}
	if again := verifyReceipts(t, s); !again.OK || again.Receipts != 8 || again.Accounts[0].Captured == nil {
		t.Errorf("verify after reconcile: got %+v", again)
	}
	before.Receipt = nil
	placed(t, s, agent.ExecuteOptions{})
	if report = reconcile(t, s, receipts.Period{}); !report.OK || report.Receipts != 10 {
		t.Errorf("reconcile again: got %+v", report)
	}
	if info, err := os.Stat(s.Book().Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
}

// Each receipt follows a good one. The call succeeds in each case.
func TestBadReceipts(t *testing.T) {
	t.Parallel()
	entry := func(f func(*evidence.Entry)) func(*agenttest.Service) agenttest.Alteration {
		return func(*agenttest.Service) agenttest.Alteration { return agenttest.Alteration{Entry: f} }
	}
	text := func(f func(shop *agenttest.Service, text string) []string) func(*agenttest.Service) agenttest.Alteration {
		return func(shop *agenttest.Service) agenttest.Alteration {
			return agenttest.Alteration{Receipt: func(text string) []string { return f(shop, text) }, Refuse: true}
		}
	}
	other := evidence.Digest([]byte("another"))
	_, stranger, _ := ed25519.GenerateKey(nil)
	strangerKey, _ := keys.New(stranger.Public())
	head := func(text, header string) string {
		_, rest, _ := strings.Cut(text, ".")
		return base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + rest
	}
	for name, tt := range map[string]struct {
		tamper func(*agenttest.Service) agenttest.Alteration
		want   string
		counts bool // the receipt is still about this call
	}{
		"another amount":                         {entry(func(e *evidence.Entry) { e.Amount.Nano++ }), "AMOUNT", true},
		"a price that the policy does not state": {entry(func(e *evidence.Entry) { e.Rule = "/permission/0" }), "AMOUNT", true},
		"another currency":                       {entry(func(e *evidence.Entry) { e.Amount.Currency, e.Account.Currency = "EUR", "EUR" }), "AMOUNT", true},
		"another answer":                         {entry(func(e *evidence.Entry) { e.Answer = other }), "ANSWER", true},
		"no answer":                              {entry(func(e *evidence.Entry) { e.Answer = "" }), "ANSWER", true},
		"an answer in a form":                    {entry(func(e *evidence.Entry) { e.AnswerForm, e.Answer = "jcs", other }), "", true},
		"another request":                        {entry(func(e *evidence.Entry) { e.Request = other }), "REQUEST", true},
		"another policy":                         {entry(func(e *evidence.Entry) { e.Policy = other }), "POLICY", true},
		"another agreement":                      {entry(func(e *evidence.Entry) { e.Agreement = "agreement-2" }), "AGREEMENT", true},
		"another PAT":                            {entry(func(e *evidence.Entry) { e.Token = "x" }), "AGREEMENT", true},
		"another key of agents":                  {entry(func(e *evidence.Entry) { e.KeyID = "x" }), "AGREEMENT", true},
		"another state":                          {entry(func(e *evidence.Entry) { e.To = evidence.StateReleased }), "STATE", true},
		"another agent":                          {entry(func(e *evidence.Entry) { e.Account.Agent = "other" }), "AGREEMENT", false},
		"another service":                        {entry(func(e *evidence.Entry) { e.Issuer = "other.example" }), "AGREEMENT", false},
		"another execution":                      {entry(func(e *evidence.Entry) { e.ID = "execution-0" }), "UNKNOWN_EXECUTION", false},
		"a top-up": {entry(func(e *evidence.Entry) {
			*e = evidence.Entry{Issuer: e.Issuer, Account: e.Account, K: e.K, Prev: e.Prev, At: e.At, Kind: evidence.KindTopUp, Amount: e.Amount}
		}), "AGREEMENT", false},
		"an earlier number":   {entry(func(e *evidence.Entry) { e.K, e.Prev = 0, evidence.Hash{} }), "FORK", true},
		"the number of both":  {entry(func(e *evidence.Entry) { e.K = 1 }), "FORK", true},
		"another predecessor": {entry(func(e *evidence.Entry) { e.K = 2 }), "FORK", true},
		"a new epoch":         {entry(func(e *evidence.Entry) { e.Epoch = 1 }), "", true},
		"a restored state":    {entry(func(e *evidence.Entry) { e.Epoch, e.K = 1, 1 }), "FORK", true},
		"none":                {text(func(*agenttest.Service, string) []string { return nil }), "CHARGED_WITHOUT_RECEIPT", false},
		"the receipt before": {func(shop *agenttest.Service) agenttest.Alteration {
			earlier := shop.Receipts("robot")[1]
			return agenttest.Alteration{Receipt: func(string) []string { return []string{earlier} }}
		}, "UNKNOWN_EXECUTION", false},
		"two receipts":  {text(func(_ *agenttest.Service, text string) []string { return []string{text, text} }), "SIGNATURE", false},
		"not a receipt": {text(func(*agenttest.Service, string) []string { return []string{"x"} }), "SIGNATURE", false},
		"a long receipt": {text(func(_ *agenttest.Service, text string) []string {
			return []string{text + strings.Repeat("A", evidence.MaxReceipt)}
		}), "SIGNATURE", false},
		"an altered byte": {text(func(_ *agenttest.Service, text string) []string {
			return []string{text[:200] + string(text[200]^1) + text[201:]}
		}), "SIGNATURE", false},
		"the key of another service": {text(func(_ *agenttest.Service, text string) []string {
			payload, _ := base64.RawURLEncoding.DecodeString(strings.Split(text, ".")[1])
			forged, _ := evidence.SignReceipt(stranger, strangerKey.Thumbprint(), payload)
			return []string{forged}
		}), "KEY", false},
		"in the name of the key": {text(func(_ *agenttest.Service, text string) []string {
			r, _ := evidence.ParseReceipt(text)
			payload, _ := base64.RawURLEncoding.DecodeString(strings.Split(text, ".")[1])
			forged, _ := evidence.SignReceipt(stranger, r.KeyID, payload)
			return []string{forged}
		}), "SIGNATURE", false},
		"alg none": {text(func(_ *agenttest.Service, text string) []string {
			r, _ := evidence.ParseReceipt(text)
			return []string{head(text, `{"alg":"none","kid":"`+string(r.KeyID)+`","typ":"uim-receipt+jwt"}`)}
		}), "SIGNATURE", false},
		"alg HS256": {text(func(_ *agenttest.Service, text string) []string {
			r, _ := evidence.ParseReceipt(text)
			return []string{head(text, `{"alg":"HS256","kid":"`+string(r.KeyID)+`","typ":"uim-receipt+jwt"}`)}
		}), "SIGNATURE", false},
		"a duplicate member": {text(func(shop *agenttest.Service, text string) []string {
			payload, _ := base64.RawURLEncoding.DecodeString(strings.Split(text, ".")[1])
			return []string{shop.SignReceipt(bytes.Replace(payload, []byte(`"amount":"0.01"`), []byte(`"amount":"0.01","amount":"0.01"`), 1))}
		}), "SIGNATURE", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop, s := accounted(t)
			placed(t, s, agent.ExecuteOptions{})
			shop.Tamper(tt.tamper(shop))
			got := placed(t, s, agent.ExecuteOptions{})
			if names(got.Discrepancies) != tt.want || (got.Receipt != nil) != tt.counts {
				t.Fatalf("got %v, %v, want %q", got.Receipt, got.Discrepancies, tt.want)
			}
			if report := verifyReceipts(t, s); report.OK != (tt.want == "") {
				t.Errorf("verify: got %+v, want %q", report, tt.want)
			}
		})
	}
}

// The client fetches a receipt that is not in the response.
func TestMissingReceiptIsFetched(t *testing.T) {
	t.Parallel()
	shop, s := accounted(t)
	shop.Tamper(agenttest.Alteration{Receipt: func(string) []string { return nil }})
	got := placed(t, s, agent.ExecuteOptions{})
	if got.Receipt == nil || len(got.Discrepancies) > 0 {
		t.Errorf("got %+v, want a receipt", got.Evidence)
	}
}

// The client trusts a new key of the service only if a trusted key introduces it, or after it has agreed again.
func TestNewReceiptKeys(t *testing.T) {
	t.Parallel()
	shop, s := accounted(t)
	placed(t, s, agent.ExecuteOptions{})
	for range 3 { // the last key is introduced by one that the agent has not seen in use
		shop.RotateReceiptKey(true)
	}
	before := s.Session()
	if got := placed(t, s, agent.ExecuteOptions{}); got.Receipt == nil || len(got.Discrepancies) > 0 || !s.Session().Changed(before) {
		t.Errorf("an introduced key: got %+v", got.Evidence)
	}
	shop.Clock.Add(time.Minute)
	shop.RotateReceiptKey(false)
	if got := placed(t, s, agent.ExecuteOptions{}); got.Receipt != nil || names(got.Discrepancies) != "KEY" {
		t.Errorf("another key: got %+v, want KEY", got.Evidence)
	}
	path := filepath.Join(t.TempDir(), "session.json")
	if err := agent.SaveSession(path, s.Session()); err != nil {
		t.Fatal(err)
	}
	loaded, err := agent.LoadSession(path)
	if err != nil || !loaded.Keys.Equal(s.Session().Keys) || loaded.Keys.Len() != 4 {
		t.Errorf("the keys are not in the session: %v, %v", loaded.Keys, err)
	}
	if _, err := s.Agree(t.Context(), agent.Acceptance{Digest: shop.Digest()}); err != nil {
		t.Fatal(err)
	}
	if got := placed(t, s, agent.ExecuteOptions{}); got.Receipt == nil || len(got.Discrepancies) > 0 {
		t.Errorf("after agreeing again: got %+v", got.Evidence)
	}
}

// A service introduces a new key about a second after its first signature, and may be unavailable in the meantime.
func TestNewReceiptKeysAreAwaited(t *testing.T) {
	t.Parallel()
	shop, s := accounted(t)
	placed(t, s, agent.ExecuteOptions{})
	shop.RotateReceiptKey(true)
	shop.HideIntroductions(2)
	if got := placed(t, s, agent.ExecuteOptions{}); got.Receipt == nil || len(got.Discrepancies) > 0 {
		t.Errorf("introduced after two seconds: got %+v", got.Evidence)
	}
	shop.RotateReceiptKey(true)
	shop.HideIntroductions(10)
	if got := placed(t, s, agent.ExecuteOptions{}); names(got.Discrepancies) != "KEY" {
		t.Errorf("not introduced: got %+v", got.Evidence)
	}
	if report := reconcile(t, s, receipts.Period{}); names(report.Problems) != "CHARGED_WITHOUT_RECEIPT GAP KEY" {
		t.Errorf("not introduced: reconcile found %v", report.Problems)
	}
	shop.HideIntroductions(0)
	if report := reconcile(t, s, receipts.Period{}); !report.OK || report.Receipts != 6 {
		t.Errorf("introduced later: reconcile found %v", report.Problems)
	}
}

// A key that the service has not introduced yet, or whose introduction the client cannot fetch, is not evidence against the service.
func TestReconcileAwaitsNewKeys(t *testing.T) {
	t.Parallel()
	shop, s := accounted(t)
	placed(t, s, agent.ExecuteOptions{})
	const ofCall = 4 // requests for the key of the receipt of a call
	shop.RotateReceiptKey(true)
	shop.HideIntroductions(ofCall + 3)
	placed(t, s, agent.ExecuteOptions{})
	if report := reconcile(t, s, receipts.Period{}); !report.OK || report.Receipts != 4 {
		t.Errorf("introduced after two seconds: got %v", report.Problems)
	}
	shop.Clock.Add(time.Hour / 2)
	shop.RotateReceiptKey(true)
	shop.RefuseKeySets(ofCall + 5)
	placed(t, s, agent.ExecuteOptions{})
	if report, err := s.Reconcile(t.Context(), receipts.Period{}); err == nil {
		t.Errorf("without the key set: got %+v, want an error", report)
	}
	if report := reconcile(t, s, receipts.Period{}); !report.OK || report.Receipts != 6 {
		t.Errorf("with the key set again: got %v", report.Problems)
	}
}

// A busySource calls a function after each response of the service.
type busySource struct {
	receipts.Source

	do func()
}

func (s busySource) Entries(ctx context.Context, currency string, after int64) (receipts.Page, error) {
	page, err := s.Source.Entries(ctx, currency, after)
	s.do()
	return page, err
}

// Another process of the agent may make calls during the comparison of the books.
func TestReconcileDuringACall(t *testing.T) {
	t.Parallel()
	_, s := accounted(t)
	placed(t, s, agent.ExecuteOptions{})
	more := 1
	report, err := s.Book().Reconcile(t.Context(), receipts.Reconciliation{
		Issuer: s.Issuer(), Agent: s.Session().AgentID, Now: time.Now(),
		Source: busySource{s, func() {
			if more--; more >= 0 {
				placed(t, s, agent.ExecuteOptions{})
			}
		}},
	})
	if err != nil || names(report.Problems) != "" {
		t.Errorf("got %v, %v", report.Problems, err)
	}
	if report := reconcile(t, s, receipts.Period{}); !report.OK || report.Receipts != 4 {
		t.Errorf("afterwards: got %+v", report)
	}
}

func TestReconcileFindsWhatTheServiceHides(t *testing.T) {
	t.Parallel()
	usage := func(f func([]string) []string) func(*agenttest.Service, *agent.Service) {
		return func(shop *agenttest.Service, _ *agent.Service) { shop.Tamper(agenttest.Alteration{Usage: f}) }
	}
	for name, tt := range map[string]struct {
		tamper func(*agenttest.Service, *agent.Service)
		want   string
	}{
		"nothing":               {usage(func(page []string) []string { return page }), ""},
		"an entry":              {usage(func(page []string) []string { return slices.Delete(page, 0, 1) }), "GAP"},
		"all entries":           {usage(func([]string) []string { return []string{} }), "GAP"},
		"the order of entries":  {usage(func(page []string) []string { slices.Reverse(page); return page }), "ORDER"},
		"an entry sent twice":   {usage(func(page []string) []string { return append(page, page...) }), "ORDER"},
		"a signature":           {usage(func(page []string) []string { page[0] = page[0][:len(page[0])-4] + "AAAA"; return page }), "GAP SIGNATURE"},
		"a text":                {usage(func(page []string) []string { page[0] = "x"; return page }), "GAP SIGNATURE"},
		"another's call as own": {func(shop *agenttest.Service, _ *agent.Service) { shop.Charge("robot", "execution-x") }, "UNKNOWN_EXECUTION"},
		"a call not made twice": {func(shop *agenttest.Service, s *agent.Service) {
			shop.Tamper(agenttest.Alteration{Receipt: func(string) []string { return nil }, Refuse: true})
			placed(t, s, agent.ExecuteOptions{})
			shop.Tamper(agenttest.Alteration{Usage: func(page []string) []string { return page[:0] }})
		}, "CHARGED_WITHOUT_RECEIPT GAP"},
		"a missing receipt that is in the books": {func(shop *agenttest.Service, s *agent.Service) {
			shop.Tamper(agenttest.Alteration{Receipt: func(string) []string { return nil }, Refuse: true})
			placed(t, s, agent.ExecuteOptions{})
		}, ""},
		"an amount": {func(shop *agenttest.Service, s *agent.Service) {
			shop.Tamper(agenttest.Alteration{Entry: func(e *evidence.Entry) { e.Amount.Nano++ }})
			placed(t, s, agent.ExecuteOptions{})
		}, "AMOUNT FORK"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop, s := accounted(t)
			placed(t, s, agent.ExecuteOptions{})
			placed(t, s, agent.ExecuteOptions{})
			tt.tamper(shop, s)
			report := reconcile(t, s, receipts.Period{})
			if names(report.Problems) != tt.want {
				t.Errorf("got %v, want %q", report.Problems, tt.want)
			}
		})
	}
}

// The books are compared only with the calls of the month.
func TestReconcileAMonth(t *testing.T) {
	t.Parallel()
	shop, s := accounted(t)
	placed(t, s, agent.ExecuteOptions{})
	shop.Charge("robot", "execution-x")
	for month, want := range map[string]string{"2026-11": "UNKNOWN_EXECUTION", "2026-10": "", "2026-12": ""} {
		p, err := receipts.Month(month)
		if err != nil {
			t.Fatal(err)
		}
		if report := reconcile(t, s, p); names(report.Problems) != want {
			t.Errorf("%s: got %v, want %q", month, report.Problems, want)
		}
	}
	if _, err := receipts.Month("2026-13"); err == nil {
		t.Error("got a period for month 13")
	}
}

// If a response is lost, the agent does not know the execution, but it knows the request.
func TestReconcileAfterALostResponse(t *testing.T) {
	t.Parallel()
	shop, s := accounted(t)
	placed(t, s, agent.ExecuteOptions{})
	shop.Script(agenttest.Reply{Break: true})
	if _, err := s.Execute(t.Context(), agenttest.Order, map[string]any{"query": "tea"}, agent.ExecuteOptions{NoRepeat: true}); err == nil {
		t.Fatal("the response was not lost")
	}
	if report := reconcile(t, s, receipts.Period{}); !report.OK {
		t.Errorf("got %v", report.Problems)
	}
}

// A client without a directory also checks receipts.
func TestReceiptsWithoutADirectory(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	shop.GiveReceipts()
	s := agreed(t, options(t, shop), shop.URL)
	if got := placed(t, s, agent.ExecuteOptions{}); got.Receipt == nil || len(got.Discrepancies) > 0 || s.Book() != nil {
		t.Errorf("got %+v", got.Evidence)
	}
	shop.Tamper(agenttest.Alteration{Entry: func(e *evidence.Entry) { e.Amount.Nano++ }})
	if got := placed(t, s, agent.ExecuteOptions{}); names(got.Discrepancies) != "AMOUNT" {
		t.Errorf("got %+v, want AMOUNT", got.Evidence)
	}
}

// A call does not fail if its receipt cannot be stored.
func TestReceiptsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	_, s := accounted(t)
	placed(t, s, agent.ExecuteOptions{})
	if err := os.Chmod(s.Book().Path(), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := placed(t, s, agent.ExecuteOptions{}); got.Receipt == nil || names(got.Discrepancies) != "FILE" {
		t.Errorf("got %+v, want FILE", got.Evidence)
	}
}
