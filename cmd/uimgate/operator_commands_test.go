package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/operatorcmd"
	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/gateway/admin/status"
	"github.com/uimgate/uimgate/internal/lines"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

func TestOperatorCommandsOnAgents(t *testing.T) {
	t.Parallel()
	g := startGatewayWithOperator(t)
	_, key := g.agree("agent-1")
	g.agree("..")
	g.agree("we/ird?id#%2F")
	list := want[api.Page[agreements.Agent]](g, "agents", "list")
	if len(list.Items) != 3 {
		t.Fatalf("got %+v, want Items of length 3", list)
	}
	for _, a := range list.Items {
		if got := want[agreements.Agent](g, "agents", "show", string(a.AgentID)); got.AgentID != a.AgentID {
			t.Errorf("%s: %+v", a.AgentID, got)
		}
	}
	page := g.run("agents", "list", "--limit", "1")
	if page.code != exitDone || !strings.Contains(page.errors, "--after ") || strings.Count(page.out, "\n") != 2 ||
		!strings.HasPrefix(page.out, "AGENT ID") {
		t.Errorf("got %+v", page)
	}
	if got := want[agreements.Agent](g, "agents", "block", "agent-1", "--reason", "why not"); got.Status != pat.AgentBlocked ||
		got.Reason != "why not" {
		t.Errorf("got %+v; want Status %v and Reason %q", got, pat.AgentBlocked, "why not")
	}
	rows, err := csv.NewReader(strings.NewReader(g.run("agents", "list", "--status", "blocked", "-o", "csv").out)).ReadAll()
	if err != nil || len(rows) != 2 || rows[0][0] != "agent_id" || rows[1][0] != "agent-1" ||
		rows[1][3] != lines.CSV(string(key.Thumbprint())) {
		t.Errorf("got %v, %v", rows, err)
	}
	if _, err := time.Parse(time.RFC3339Nano, rows[1][4]); err != nil {
		t.Error(err)
	}
	if got := want[agreements.Agent](g, "agents", "unblock", "agent-1"); got.Status != pat.AgentActive {
		t.Errorf("got %+v, want Status %v", got, pat.AgentActive)
	}
	if got := want[agreements.Agent](g, "agents", "approve", "agent-1"); !got.Approved {
		t.Errorf("got %+v", got)
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	second, err := keys.New(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	file := g.write("second.jwk", string(second.JWK()))
	if got := want[agreements.Agent](g, "agents", "add-key", "agent-1", file); !slices.Contains(got.Keys, second.Thumbprint()) {
		t.Errorf("got %+v", got)
	}
	if got := want[agreements.Agent](g, "agents", "add-key", "..", strings.Repeat("A", 43)); len(got.Keys) != 2 {
		t.Errorf("got %+v, want Keys of length 2", got)
	}
	for _, args := range [][]string{
		{"agents", "show", "nobody"},
		{"agents", "add-key", "agent-1", "no-such-file.pem"},
		{"agents", "add-key", "agent-1", g.config()},
	} {
		if s := g.run(args...); s.code != exitWrong || s.out != "" || s.errors == "" {
			t.Errorf("%v: %+v", args, s)
		}
	}
}

func TestOperatorCommandsOnAgreements(t *testing.T) {
	t.Parallel()
	g := startGatewayWithOperator(t)
	g.agree("agent-1")
	list := want[api.Page[agreements.Agreement]](g, "agreements", "list", "--agent", "agent-1")
	if len(list.Items) != 1 {
		t.Fatalf("got %+v, want Items of length 1", list)
	}
	id := string(list.Items[0].ID)
	if s := g.run("agreements", "show", id); s.code != exitDone || !strings.Contains(s.out, "policy_uid") ||
		!strings.Contains(s.out, "agent-1") {
		t.Errorf("got %+v; want code %v, out containing %q and out containing %q", s, exitDone, "policy_uid", "agent-1")
	}
	policies := want[api.Page[policies.Policy]](g, "agreements", "policies")
	if len(policies.Items) != 1 || !policies.Items[0].Offered || policies.Items[0].Digest != list.Items[0].PolicyDigest {
		t.Errorf("got the policies %+v, want the agreed one", policies.Items)
	}
	if s := g.run("agreements", "policies"); s.code != exitDone || !strings.HasPrefix(s.out, "DIGEST") || !strings.Contains(s.out, "yes") {
		t.Errorf("got %+v, want a table", s)
	}
	bundle := g.run("agreements", "export", id)
	if bundle.code != exitDone {
		t.Fatalf("got %+v, want code %v", bundle, exitDone)
	}
	g.stop() // the bundle is verified without a gateway
	file := g.write("bundle.json", bundle.out)
	for _, s := range []output{command(t, "", "agreements", "verify", file), command(t, bundle.out, "agreements", "verify", "-")} {
		if s.code != exitDone || !strings.Contains(s.out, "agent-1") || !strings.Contains(s.errors, "Proved") {
			t.Errorf("got %+v; want code %v, out containing %q and errors containing %q", s, exitDone, "agent-1", "Proved")
		}
	}
	forged := strings.Replace(bundle.out, `"agent-1"`, `"agent-2"`, 1)
	if s := command(t, forged, "agreements", "verify", "-"); s.code != exitWrong || s.out != "" || !strings.Contains(s.errors, "NOT PROVED") {
		t.Errorf("got %+v; want code %v, out empty and errors containing %q", s, exitWrong, "NOT PROVED")
	}
	if s := g.run("agreements", "list"); s.code != exitWrong || !strings.Contains(s.errors, "no answer") {
		t.Errorf("without a gateway: %+v; want code %v and errors containing %q", s, exitWrong, "no answer")
	}
	if s := g.run("agreements", "revoke", id); s.code != exitWrong || !strings.Contains(s.errors, "before you repeat it") {
		t.Errorf("without a gateway: %+v; want code %v and errors containing %q", s, exitWrong, "before you repeat it")
	}
}

func TestOperatorCommandsOnPATs(t *testing.T) {
	t.Parallel()
	g := startGatewayWithOperator(t)
	one, _ := g.agree("agent-1")
	two, _ := g.agree("agent-2")
	list := want[api.Page[agreements.PAT]](g, "pats", "list", "--agent", "agent-1", "--active")
	if len(list.Items) != 1 {
		t.Fatalf("got %+v, want Items of length 1", list)
	}
	if s := g.run("pats", "list"); !strings.Contains(s.out, "10,000/hour") {
		t.Errorf("got %+v, want out containing %q", s, "10,000/hour")
	}
	active := func(token string) bool {
		t.Helper()
		s := g.runWith(token+"\n", "pats", "introspect", "-o", "json")
		var in pat.Introspection
		if err := json.Unmarshal([]byte(s.out), &in); err != nil || s.code != exitDone || strings.Contains(s.out+s.errors, token) {
			t.Fatalf("got %+v, %v", s, err)
		}
		return in.Active
	}
	if !active(one) || active("x.y.z") {
		t.Errorf("active: the PAT %v, an invalid text %v; want true, false", active(one), active("x.y.z"))
	}
	if got := want[agreements.PAT](g, "pats", "revoke", string(list.Items[0].ID), "--reason", "leaked"); got.State != agreements.PATRevoked {
		t.Errorf("got %+v, want State %v", got, agreements.PATRevoked)
	}
	if active(one) || !active(two) {
		t.Error("the wrong PAT was revoked")
	}
	if s := g.run("pats", "revoke", "--policy", list.Items[0].PolicyDigest); s.code != exitDone || active(two) {
		t.Errorf("got %+v", s)
	}
	if s := g.run("pats", "introspect", g.write("pat.txt", two)); s.code != exitDone || !strings.Contains(s.out, "active  no") {
		t.Errorf("got %+v; want code %v and out containing %q", s, exitDone, "active  no")
	}
	agreement := want[api.Page[agreements.Agreement]](g, "agreements", "list", "--agent", "agent-2").Items[0]
	if got := want[agreements.Agreement](g, "agreements", "revoke", string(agreement.ID)); got.State != pat.AgreementRevoked {
		t.Errorf("got %+v, want State %v", got, pat.AgreementRevoked)
	}
	for _, args := range [][]string{
		{"pats", "revoke"},
		{"pats", "revoke", "x", "--policy", "y"},
		{"pats", "revoke", "x", "y"},
		{"pats", "introspect"},
	} {
		if s := g.run(args...); s.code != exitUsage || s.out != "" {
			t.Errorf("%v: %+v; want code %v and out empty", args, s, exitUsage)
		}
	}
	if s := g.run("pats", "revoke", "never-issued"); s.code != exitWrong || !strings.Contains(s.errors, "no such record") {
		t.Errorf("got %+v; want code %v and errors containing %q", s, exitWrong, "no such record")
	}
}

func TestOperatorCommandsOnUsage(t *testing.T) {
	t.Parallel()
	g := startGatewayWithOperator(t)
	token, _ := g.agree("agent-1")
	for range 3 {
		g.post("/api/intents/execute", token, map[string]any{
			"intent_uid": "shop.example:order:v1",
			"parameters": map[string]any{"product": "lamp"},
		})
	}
	open := want[api.Page[calls.Execution]](g, "usage", "executions", "--state", "unresolved").Items
	if len(open) != 3 {
		t.Fatalf("got %+v, want length 3", open)
	}
	for before, released := range map[time.Time]int{time.Now().Add(-time.Hour): 0, open[1].BeganAt: 1} {
		got := want[api.Page[calls.Execution]](g, "usage", "resolve", "--not-sent-before", before.Format(time.RFC3339Nano)).Items
		if len(got) != released || released == 1 && (got[0].ID != open[2].ID || got[0].State != "released") {
			t.Errorf("before %s: %+v", before, got)
		}
	}
	if s := g.run("usage", "executions"); !strings.Contains(s.out, "0.25 EUR") || !strings.Contains(s.out, "unresolved") {
		t.Errorf("got %+v; want out containing %q and out containing %q", s, "0.25 EUR", "unresolved")
	}
	if got := want[calls.Execution](g, "usage", "resolve", open[0].ID, "captured"); got.State != "captured" {
		t.Errorf("got %+v, want State %q", got, "captured")
	}
	if got := want[calls.Execution](g, "usage", "resolve", open[1].ID, "released"); got.State != "released" {
		t.Errorf("got %+v, want State %q", got, "released")
	}
	if s := g.run("usage", "resolve", open[0].ID, "released"); s.code != exitWrong {
		t.Errorf("got %+v, want code %v", s, exitWrong)
	}
	if got := want[billing.Account](g, "usage", "top-up", "agent-1", "10", "EUR"); got.Balance != "9.75" {
		t.Errorf("got %+v, want Balance %q", got, "9.75")
	}
	if got := want[billing.Account](g, "usage", "top-up", "agent-1", "0.05 EUR"); got.ToppedUp != "10.05" {
		t.Errorf("got %+v, want ToppedUp %q", got, "10.05")
	}
	if s := g.run("usage", "accounts", "-o",
		"csv"); s.out != "agent_id,currency,topped_up,held,captured,balance\nagent-1,EUR,10.05,0.00,0.25,9.80\n" {
		t.Errorf("got %+v", s)
	}
	if s := g.run("usage", "ledger"); s.code != exitDone || !strings.Contains(s.out, "unresolved → captured") ||
		!strings.Contains(s.out, "top-up") {
		t.Errorf("got %+v; want code %v, out containing %q and out containing %q", s, exitDone, "unresolved → captured", "top-up")
	}
	if got := want[calls.Execution](g, "usage", "show", open[0].ID); got.ID != open[0].ID || got.State != "captured" {
		t.Errorf("got %+v; want ID %v and State %q", got, open[0].ID, "captured")
	}
	if got := want[billing.TopUpResult](g, "usage", "top-up", "agent-1", "1 EUR", "--reverse", "--reference",
		"refund 1"); got.ToppedUp != "9.05" {
		t.Errorf("got %+v, want ToppedUp %q", got, "9.05")
	}
	if s := g.run("usage", "top-up", "agent-1", "1 EUR", "--reverse", "--reference", "refund 1"); s.code != exitDone ||
		!strings.Contains(s.errors, "had already been made") {
		t.Errorf("got %+v; want code %v and errors containing %q", s, exitDone, "had already been made")
	}
	if s := g.run("usage", "top-up", "agent-1", "2 EUR", "--reference", "refund 1"); s.code != exitWrong ||
		!strings.Contains(s.errors, "belongs to another") {
		t.Errorf("got %+v; want code %v and errors containing %q", s, exitWrong, "belongs to another")
	}
	if s := g.run("usage", "ledger"); !strings.Contains(s.out, "top-up reversed") {
		t.Errorf("got %+v, want out containing %q", s, "top-up reversed")
	}
	for _, args := range [][]string{
		{"usage", "resolve", "x", "held"},
		{"usage", "resolve", "x", "released", "--not-sent-before", "2026-11-22T10:05:00Z"},
		{"usage", "resolve", "--not-sent-before", "yesterday"},
		{"usage", "resolve", "x", "released", "--agent", "agent-1"},
		{"usage", "top-up", "agent-1", "ten", "EUR"},
		{"usage", "top-up", "agent-1"},
		{"usage", "accounts", "x"},
		{"usage", "accounts", "--state", "held"},
	} {
		if s := g.run(args...); s.code != exitUsage || s.out != "" {
			t.Errorf("%v: %+v; want code %v and out empty", args, s, exitUsage)
		}
	}
}

func TestOperatorStatements(t *testing.T) {
	t.Parallel()
	g := startGatewayWithOperator(t)
	for _, id := range []string{"agent-1", "agent-2", "agent-3"} {
		token, _ := g.agree(id)
		g.post("/api/intents/execute", token, map[string]any{
			"intent_uid": "shop.example:order:v1",
			"parameters": map[string]any{"product": "lamp"},
		})
	}
	want[billing.TopUpResult](g, "usage", "top-up", "agent-1", "10", "EUR")
	list := want[api.Page[billing.Statement]](g, "usage", "statements", "--month", time.Now().UTC().Format("2006-01"))
	sums := want[struct{ Totals []billing.StatementTotal }](g, "usage", "statements").Totals
	if len(sums) != 1 || sums[0].Accounts != 3 || sums[0].ToppedUp != "10.00" ||
		sums[0].Unresolved != (billing.Charges{Calls: 3, Amount: "0.75"}) || sums[0].Closing.Balance != "9.25" {
		t.Errorf("got %+v", sums)
	}
	if s := g.run("agents", "name", "agent-1", "Corner Shop"); s.code != exitDone || !strings.Contains(s.out, "Corner Shop") {
		t.Errorf("got %+v; want code %v and out containing %q", s, exitDone, "Corner Shop")
	}
	table := g.run("usage", "statements")
	if last := strings.Fields(table.out[strings.LastIndex(strings.TrimSpace(table.out), "\n")+1:]); len(last) < 3 || last[2] != "total" ||
		!strings.Contains(table.out, "Corner Shop") {
		t.Errorf("got %+v", table)
	}
	for _, args := range [][]string{{"agent-1"}, {"agent-1", ""}, {"agent-1", "x", "--clear"}} {
		if s := g.run(append([]string{"agents", "name"}, args...)...); s.code != exitUsage {
			t.Errorf("%v: %+v; want code %v", args, s, exitUsage)
		}
	}
	if s := g.run("agents", "name", "agent-1", "--clear"); s.code != exitDone || strings.Contains(s.out, "Corner Shop") {
		t.Errorf("got %+v", s)
	}
	if len(list.Items) != 3 || list.Items[0].Opening.Balance != "0.00" || list.Items[0].Closing.Balance != "9.75" ||
		list.Items[0].Lines[0].Unresolved.Calls != 1 {
		t.Fatalf("got %+v", list)
	}
	for _, args := range [][]string{{"--limit", "2"}, {"--all"}} {
		s := g.run(append([]string{"usage", "statements", "-o", "csv"}, args...)...)
		rows, err := csv.NewReader(strings.NewReader(s.out)).ReadAll()
		agents := map[string]int{}
		for _, r := range rows {
			agents[r[0]]++
		}
		if err != nil || agents["agent-1"] != 4 || agents["agent_id"] != 1 || (agents["agent-3"] == 3) != (args[0] == "--all") ||
			strings.Contains(s.errors, "--after") == (args[0] == "--all") {
			t.Errorf("%v: %+v, %v", args, s, err)
		}
	}
	if s := g.run("usage", "statements", "--agent", "agent-1"); s.code != exitDone || !strings.Contains(s.out, "opening") ||
		!strings.Contains(s.out, "closing") || !strings.Contains(s.out, "shop.example:order:v1") {
		t.Errorf("got %+v", s)
	}
	for _, args := range [][]string{
		{"--month", "11"},
		{"--month", "2026-11", "--to", "2026-12"},
		{"--from", "yesterday"},
		{"--from", "2026-11", "--to", "2026-11-01"},
		{"--all", "--limit", "5"},
	} {
		if s := g.run(append([]string{"usage", "statements"}, args...)...); s.code == exitDone || s.out != "" {
			t.Errorf("%v: %+v", args, s)
		}
	}
}

func TestOperatorInvoices(t *testing.T) {
	t.Parallel()
	g := startGatewayWithOperator(t)
	token, _ := g.agree("agent-1")
	g.post("/api/intents/execute", token, map[string]any{
		"intent_uid": "shop.example:order:v1",
		"parameters": map[string]any{"product": "lamp"},
	})
	open := want[api.Page[calls.Execution]](g, "usage", "executions", "--state", "unresolved").Items
	got := want[calls.Execution](g, "usage", "resolve", open[0].ID, "captured")
	month := got.SettledAt.UTC().Format("2006-01")
	bill := want[billing.Invoice](g, "usage", "invoice", "agent-1", "--month", month)
	if len(bill.Rows) != 1 || bill.Rows[0].Amount != "0.25" || bill.Totals[0].Amount != "0.25" || len(bill.Evidence) != 1 {
		t.Fatalf("got %+v; want Rows of length 1, Rows[0].Amount %q, Totals[0].Amount %q and Evidence of length 1", bill, "0.25", "0.25")
	}
	page := g.run("usage", "invoice", "agent-1", "--month", month)
	if page.code != exitDone || !strings.HasPrefix(page.out, "<!DOCTYPE html>") || !strings.Contains(page.out, bill.Number) {
		t.Errorf("got %+v", page)
	}
	for format, part := range map[string]string{"csv": "unit_price", "table": "UNIT PRICE"} {
		if s := g.run("usage", "invoice", "agent-1", "--month", month, "-o", format); s.code != exitDone || !strings.Contains(s.out, part) {
			t.Errorf("got %+v; want code %v and out containing %q", s, exitDone, part)
		}
	}
	for _, args := range [][]string{
		{"agent-1"},
		{"--month", month},
		{"agent-1", "--month", "11"},
		{"agent-1", "--month", month, "-o", "xml"},
	} {
		if s := g.run(append([]string{"usage", "invoice"}, args...)...); s.code != exitUsage || s.out != "" {
			t.Errorf("%v: %+v; want code %v and out empty", args, s, exitUsage)
		}
	}
	if s := g.run("usage", "invoice", "nobody", "--month", month); s.code != exitWrong || s.out != "" {
		t.Errorf("got %+v; want code %v and out empty", s, exitWrong)
	}
}

func TestOperatorBuyersAndCreditNotes(t *testing.T) {
	t.Parallel()
	g := startGatewayWithOperator(t)
	token, _ := g.agree("agent-1")
	g.post("/api/intents/execute", token, map[string]any{
		"intent_uid": "shop.example:order:v1",
		"parameters": map[string]any{"product": "lamp"},
	})
	if b := want[billing.Buyer](g, "agents", "invoice-to", "agent-1"); b.Name != "" {
		t.Errorf("got %+v", b)
	}
	buyer := []string{"--name", "Corner & Co.", "--address", "1 rue du Port", "--address", "Marseille", "--country", "FR"}
	stated := want[billing.Buyer](g, slices.Concat(
		[]string{"agents", "invoice-to", "agent-1", "--tax-id", "FR1", "--vat", "reverse-charge"}, buyer)...)
	if stated.AgentID != "agent-1" || len(stated.Address) != 2 || stated.VAT != store.TaxReverseCharge {
		t.Errorf("got %+v", stated)
	}
	if s := g.run("agents", "invoice-to", "agent-1"); s.code != exitDone || !strings.Contains(s.out, "1 rue du Port, Marseille") {
		t.Errorf("got %+v", s)
	}
	for _, args := range [][]string{
		{"agent-1", "--name", "x"},
		{"agent-1", "--email", "a@b.example"},
		append([]string{"agent-1", "--clear"}, buyer...),
		{},
	} {
		if s := g.run(append([]string{"agents", "invoice-to"}, args...)...); s.code != exitUsage || s.out != "" {
			t.Errorf("%v: %+v; want code %v and out empty", args, s, exitUsage)
		}
	}
	call := want[api.Page[calls.Execution]](g, "usage", "executions", "--state", "unresolved").Items[0]
	settled := want[calls.Execution](g, "usage", "resolve", call.ID, "captured")
	month := settled.SettledAt.UTC().Format("2006-01")
	s := g.run("usage", "invoice", "agent-1", "--month", month, "--issue")
	if s.code != exitWrong || !strings.Contains(s.errors, "has not ended") {
		t.Errorf("got %+v", s)
	}
	if s := g.run("usage", "invoices"); s.code != exitDone || strings.Contains(s.out, "INV-") {
		t.Errorf("got %+v", s)
	}
	refund := want[billing.Refund](g, "usage", "refund", call.ID, "--reason", "late")
	note := want[billing.CreditNote](g, "usage", "credit-note", refund.Number)
	if note.Amount != "0.25" || note.Buyer == nil || note.Tax == nil || note.Tax.Payable != "0.25" || note.Tax.Rule != store.TaxReverseCharge {
		t.Errorf("got %+v", note)
	}
	page := g.run("usage", "credit-note", refund.Number)
	if page.code != exitDone || !strings.HasPrefix(page.out, "<!DOCTYPE html>") || !strings.Contains(page.out, "Corner &amp; Co.") ||
		!strings.Contains(page.out, "Reverse charge") || !strings.Contains(page.out, refund.Number) {
		t.Errorf("got %+v", page)
	}
	if s := g.run("usage", "credit-note", "CN-000009"); s.code != exitWrong || s.out != "" {
		t.Errorf("got %+v", s)
	}
	if cleared := want[billing.Buyer](g, "agents", "invoice-to", "agent-1", "--clear"); cleared.Name != "" {
		t.Errorf("got %+v", cleared)
	}
}

func TestAllPages(t *testing.T) {
	t.Parallel()
	g := startGatewayWithOperator(t)
	const many = 2
	for i := range many {
		g.agree("agent-" + strconv.Itoa(i))
	}
	for _, group := range []string{"agents", "agreements", "pats"} {
		all := want[api.Page[map[string]any]](g, group, "list", "--all")
		if len(all.Items) != many || all.Next != "" {
			t.Errorf("%s: got %+v; want Items of length %v and Next empty", group, all, many)
		}
		after := ""
		seen := 0
		for {
			args := []string{group, "list", "--limit", "1"}
			if after != "" {
				args = append(args, "--after", after)
			}
			page := want[api.Page[map[string]any]](g, args...)
			seen += len(page.Items)
			if after = page.Next; after == "" {
				break
			}
		}
		if seen != many {
			t.Errorf("%s: %d in pages; want %v", group, seen, many)
		}
	}
	jti := string(want[api.Page[agreements.PAT]](g, "pats", "list").Items[0].ID)
	if got := want[agreements.PAT](g, "pats", "show", jti); string(got.ID) != jti {
		t.Errorf("got %+v", got)
	}
	if got := want[agreements.Agent](g, "agents", "revoke", "agent-0"); got.Status != pat.AgentBlocked {
		t.Errorf("got %+v, want Status %v", got, pat.AgentBlocked)
	}
}

func TestOperatorReloadStatusAndKeys(t *testing.T) {
	t.Parallel()
	g := startGatewayWithOperator(t)
	if s := g.run("status"); s.code != exitDone || !strings.Contains(s.out, "shop.example") || !strings.Contains(s.out, "closed") {
		t.Errorf("got %+v; want code %v, out containing %q and out containing %q", s, exitDone, "shop.example", "closed")
	}
	before := want[status.Status](g, "status")
	g.write("policy.json", strings.Replace(operatorPolicy, `"0.25"`, `"0.50"`, 1))
	if got := want[reloads.Reload](g, "reload"); got.Configuration.Hash == before.Configuration.Hash {
		t.Errorf("got %+v", got)
	}
	text, err := os.ReadFile(g.config())
	if err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(t.TempDir(), "good.yaml")
	token := filepath.Join(g.dir, "data", "admin.token")
	if err := os.WriteFile(good, text, 0o600); err != nil {
		t.Fatal(err)
	}
	g.write("uimgate.yaml", string(text)+"bogus: 1\n")
	s := command(t, "", "reload", "--admin", g.addresses.Admin, "--admin-token-file", token)
	if s.code != exitWrong || s.out != "" || !strings.Contains(s.errors, "uimgate.yaml:") || !strings.Contains(s.errors, "bogus") {
		t.Errorf("got %+v; want code %v, out empty, errors containing %q and errors containing %q", s, exitWrong, "uimgate.yaml:", "bogus")
	}
	s = command(t, "", "status", "--data", filepath.Join(g.dir, "data"))
	if at := regexp.MustCompile(`(?m)uimgate\.yaml:\d+: .*bogus`); s.code != exitDone || !at.MatchString(s.errors) {
		t.Errorf("got %+v; want the file, the line and the problem of the refused reload", s)
	}
	g.write("uimgate.yaml", string(text))
	first := want[api.Page[agreements.Key]](g, "keys", "list").Items
	first = slices.DeleteFunc(first, func(k agreements.Key) bool { return k.Purpose != keys.ForPATs }) // others sign agent cards and receipts
	if len(first) != 1 || first[0].ID != before.SigningKey {
		t.Fatalf("got %+v; want length 1 and [0].ID %v", first, before.SigningKey)
	}
	next := want[agreements.Key](g, "keys", "rotate")
	if s := g.run("keys", "list"); strings.Count(s.out, "\n") != 7 || strings.Contains(s.out, "PRIVATE") {
		t.Errorf("got %+v", s)
	}
	if got := want[agreements.Key](g, "keys", "retire", "--at", "2100-01-01T00:00:00Z", "--", string(next.ID)); got.NotAfter.Year() != 2100 {
		t.Errorf("got %+v", got)
	}
	got := want[agreements.Key](g, "keys", "retire", "--at", "2100-01-01T00:00:00Z", "--", string(first[0].ID))
	if got.NotAfter.Year() == 2100 {
		t.Errorf("the end of a rotated key was postponed: %+v", got)
	}
	rotated := want[api.Page[agreements.Key]](g, "keys", "rotate", "--all").Items
	rotated = slices.DeleteFunc(rotated, func(k agreements.Key) bool { return k.Purpose != keys.ForPATs })
	if len(rotated) != 1 {
		t.Fatalf("got %+v, want the key of the only process", rotated)
	}
	next = rotated[0]
	if s := g.run("keys", "list"); !strings.Contains(s.out, "PROCESS") || !strings.Contains(s.out, next.Process) || next.Process == "" {
		t.Errorf("got %+v; want a column PROCESS with %q", s, next.Process)
	}
	if s := g.run("status"); !strings.Contains(s.errors, next.Process) || !strings.Contains(s.errors, string(next.ID)) {
		t.Errorf("got %+v; want errors containing %q and %q", s, next.Process, next.ID)
	}
	receipts := want[agreements.Key](g, "keys", "rotate", "--purpose", "receipt")
	if receipts.Purpose != keys.ForReceipts || !receipts.Signing {
		t.Errorf("got %+v, want a key for receipts", receipts)
	}
	for _, args := range [][]string{{"--purpose", "card"}, {"--purpose", "receipt", "--all"}} {
		if s := g.run(append([]string{"keys", "rotate"}, args...)...); s.code != exitUsage {
			t.Errorf("%v: got %+v, want code %d", args, s, exitUsage)
		}
	}
	if retired := want[api.Page[agreements.Key]](g, "keys", "retire", "--all").Items; !slices.ContainsFunc(
		retired,
		func(k agreements.Key) bool {
			return k.ID == next.ID && !k.NotAfter.IsZero()
		},
	) {
		t.Errorf("got %+v; want %s among them", retired, next.ID)
	}
	if status := want[status.Status](g, "status"); status.SigningKey == next.ID {
		t.Errorf("the gateway signs with %s, which was retired", next.ID)
	} else {
		next.ID = status.SigningKey
	}
	if s := command(t, "", "keys", "new", "-c", g.config()); s.code != exitWrong || !strings.Contains(s.errors, "keys rotate") {
		t.Errorf("beside a gateway: %+v; want code %v and errors containing %q", s, exitWrong, "keys rotate")
	}
	g.stop()
	made := command(t, "", "keys", "new", "-c", g.config(), "-o", "json")
	var key agreements.Key
	if err := json.Unmarshal([]byte(made.out), &key); err != nil || made.code != exitDone || key.ID != next.ID {
		t.Errorf("%+v, %v; want the existing key", made, err)
	}
}

func TestKeysNewIsIdempotent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"agents.json": operatorAgents, "policy.json": operatorPolicy,
		"uimgate.yaml": "billing: {credit: 1 EUR, newcomers: 1 EUR}\npat: {algorithm: ES256}\nservices: [{agents_file: agents.json, policy_file: policy.json, upstream: {url: \"http://127.0.0.1:9\"}}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var kids []keys.ID
	for range 2 {
		s := command(t, "", "keys", "new", "-c", filepath.Join(dir, "uimgate.yaml"), "--data", filepath.Join(dir, "data"), "-o", "json")
		var key agreements.Key
		if err := json.Unmarshal([]byte(s.out), &key); s.code != exitDone || err != nil || key.Algorithm != "ES256" ||
			strings.Contains(s.out, `"d"`) {
			t.Fatalf("got %+v, %v", s, err)
		}
		kids = append(kids, key.ID)
	}
	if kids[0] != kids[1] {
		t.Errorf("got %v, want [0] %v", kids, kids[1])
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	t.Setenv(operatorcmd.EnvAdminToken, "token-0123456789abcdef")
	var explained func(*cobra.Command)
	explained = func(c *cobra.Command) {
		if c.Example == "" || c.Short == "" || !strings.Contains(c.Example, "uimgate ") {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for _, c := range c.Commands() {
			explained(c)
		}
	}
	explained(rootCommand())
	for _, args := range [][]string{
		{"agents", "list", "-o", "xml"},
		{"agents", "list", "--bogus"},
		{"agents", "bogus"},
		{"agents", "show"},
		{"agents", "list", "x"},
		{"agreements", "verify"},
		{"agreements", "verify", "f", "-o", "xml"},
		{"keys", "new", "x"},
		{"keys", "retire"},
		{"keys", "retire", "kid", "--all"},
		{"keys", "new", "-o", "xml"},
		{"status", "x"},
		{"reload", "x"},
	} {
		if s := command(t, "", args...); s.code != exitUsage || s.out != "" || s.errors == "" {
			t.Errorf("%v: %+v", args, s)
		}
	}
	if s := command(t, "", "agents"); s.code != exitDone || !strings.Contains(s.out, "add-key") {
		t.Errorf("got %+v; want code %v and out containing %q", s, exitDone, "add-key")
	}
}
