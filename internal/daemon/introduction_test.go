package daemon_test

import (
	"net/http"
	"testing"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// An agent that trusts the keys of the key set as it was can trust new keys, because earlier ones introduce them there.
func TestNewKeysAreIntroduced(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{config: logged("")})
	a := g.newAgent("agent-1").agree()
	a.chargedCall()
	read := func() (evidence.KeySet, []string) {
		t.Helper()
		got := g.do("GET", "/.well-known/jwks.json", nil, nil)
		set, err := evidence.ParseKeySet(got.body)
		if err != nil {
			t.Fatal(err)
		}
		document, err := strictjson.DecodeObject(got.body)
		if err != nil {
			t.Fatal(err)
		}
		var entries []string
		for _, v := range document.List("keys") {
			member, _ := strictjson.AsObject(v)
			if text := member.Text("uim_entry"); text != "" {
				entries = append(entries, text)
			}
		}
		return set, entries
	}
	trusted, _ := read()
	trusted = trusted.Only(evidence.PurposeReceipt)
	for { // until the log has the entries of the first keys of receipts and logs
		if _, entries := read(); len(entries) == 2 {
			break
		}
	}
	for range 2 {
		if got := g.adminDo("POST", "/admin/v1/keys/rotate", map[string]any{"purpose": "receipt"}); got.status != http.StatusOK {
			t.Fatalf("got %d %s", got.status, got.body)
		}
		for { // until the log has the entry of the new key
			_, entries := read()
			before := trusted.Len()
			for _, text := range entries {
				_ = trusted.Introduce(text)
			}
			if trusted.Len() > before {
				break
			}
		}
		answer := a.execute(order, map[string]any{"product_id": "p1"}, nil)
		receipt, err := evidence.ParseReceipt(answer.header.Get("UIM-Receipt"))
		if err != nil {
			t.Fatal(err)
		}
		if err := receipt.Verify(trusted); err != nil {
			t.Fatalf("the receipt of the new key: %v", err)
		}
	}
	if trusted.Len() != 3 {
		t.Errorf("%d keys are trusted, want 3", trusted.Len())
	}
}
