package daemon_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
)

// logged is testConfig with a short interval between checkpoints, and further settings of evidence.
func logged(settings string) string {
	return testConfig + "evidence: {checkpoint: 100ms" + settings + "}\n"
}

// chargedCall makes a call with a charge, and returns its execution id.
func (a *agent) chargedCall() string {
	got := a.execute(order, map[string]any{"product_id": "p1"}, nil)
	_, id, _ := strings.Cut(got.header.Get("UIM-Charge"), "id=")
	id, _, found := strings.Cut(id, ";")
	if got.status != http.StatusOK || !found {
		a.g.t.Fatalf("got %d %s", got.status, got.body)
	}
	return id
}

func (a *agent) log(path string) answer {
	return a.g.do("GET", "/api/log/"+path, nil, header{"Authorization": "Bearer " + a.token})
}

// logProof waits until an entry is in the log.
func (a *agent) logProof(query string) answer {
	for {
		got := a.log("proof?" + query)
		if got.status != http.StatusNotFound || got.reason(a.g.t) != "NOT_LOGGED_YET" {
			return got
		}
		if got.header.Get("Retry-After") != "1" {
			a.g.t.Fatalf("Retry-After: %q", got.header.Get("Retry-After"))
		}
	}
}

// logVerifier returns the key of the log in agents.json.
func (g *gate) logVerifier() note.Verifier {
	var file struct {
		Key   string `json:"uim-log-key"`
		Log   string `json:"uim-log"`
		Delay int    `json:"uim-mmd"`
	}
	got := g.do("GET", "/agents.json", nil, nil)
	if err := json.Unmarshal(got.body, &file); err != nil || file.Delay != 10 || file.Log != g.url+"/api/log/" {
		g.t.Fatalf("%+v, %v", file, err)
	}
	v, err := note.NewVerifier(file.Key)
	if err != nil {
		g.t.Fatal(err)
	}
	return v
}

func TestLogProvesCharges(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{config: logged("")})
	a := g.newAgent("agent-1").agree()
	id := a.chargedCall()
	verify := func(query string) (log.Proof, log.Checkpoint) {
		t.Helper()
		got := a.logProof(query)
		p, err := log.ParseProof(got.body)
		if err != nil || got.status != http.StatusOK || got.header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Fatalf("%d %s %v", got.status, got.body, err)
		}
		c, err := log.OpenCheckpoint(p.Checkpoint, g.logVerifier())
		if err != nil || c.Origin != "shop.example/uim-ledger/0" || c.Time.IsZero() {
			t.Fatalf("got %+v, %v", c, err)
		}
		return p, c.Checkpoint
	}
	held, _ := verify("id=" + id + "&line=held")
	captured, c := verify("id=" + id)
	if captured.Index <= held.Index {
		t.Errorf("held is entry %d, captured %d", held.Index, captured.Index)
	}
	tile := a.log("tile/0/000.p/" + strconv.FormatInt(c.Size, 10))
	if tile.status != http.StatusOK || int64(len(tile.body)) != 32*c.Size {
		t.Fatalf("got %d, %d bytes", tile.status, len(tile.body))
	}
	leaf := evidence.Hash(tile.body[32*captured.Index:])
	receipt, err := evidence.ParseReceipt(string(g.do("GET", "/api/receipts/"+id, nil, header{"Authorization": "Bearer " + a.token}).body))
	if err != nil || receipt.Leaf != leaf {
		t.Errorf("the receipt has the leaf %s, the log %s, %v", receipt.Leaf, leaf, err)
	}
	if err := captured.Verify(c, leaf); err != nil {
		t.Error(err)
	}

	account := "currency=" + receipt.Entry.Account.Currency + "&k="
	if numbered, _ := verify(account + strconv.FormatInt(receipt.Entry.K, 10)); numbered.Index != captured.Index {
		t.Errorf("by its number: entry %d of the log, want %d", numbered.Index, captured.Index)
	}

	second := a.chargedCall()
	_, later := verify("id=" + second)
	proof := a.log("consistency?old=" + strconv.FormatInt(c.Size, 10) + "&new=" + strconv.FormatInt(later.Size, 10))
	hashes, err := log.ParseHashLines(proof.body)
	if err == nil {
		err = log.CheckConsistency(c, later, hashes)
	}
	if err != nil || proof.status != http.StatusOK {
		t.Errorf("%d %s: %v", proof.status, proof.body, err)
	}
	sized, err := log.ParseProof(a.log("proof?id=" + id + "&size=" + strconv.FormatInt(c.Size, 10)).body)
	if err == nil {
		err = sized.Verify(c, leaf)
	}
	if err != nil || len(sized.Checkpoint) > 0 {
		t.Errorf("of the size before: %v", err)
	}
	if got := a.log("checkpoint?epoch=0"); got.status != http.StatusOK || !bytes.HasPrefix(got.body, []byte("shop.example/uim-ledger/0\n")) {
		t.Errorf("got %d %s", got.status, got.body)
	}
	status := g.status(t)
	if l := status.Log; l == nil || l.Services["default"].Size < later.Size {
		t.Errorf("status: %+v", status.Log)
	}
}

func TestLogRefuses(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{config: logged("")})
	a := g.newAgent("agent-1").agree()
	other := g.newAgent("agent-2").agree()
	id := a.chargedCall()
	if got := a.logProof("id=" + id); got.status != http.StatusOK {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	for path, reason := range map[string]string{
		"proof?id=none":                   "RECEIPT_NOT_FOUND",
		"proof":                           "RECEIPT_NOT_FOUND",
		"proof?id=%00%ff":                 "RECEIPT_NOT_FOUND",
		"proof?id=" + id + "&line=lost":   "INVALID_PARAMETER",
		"proof?id=" + id + "&size=x":      "INVALID_PARAMETER",
		"proof?id=" + id + "&size=999999": "INVALID_PARAMETER",
		"proof?id=" + id + "&size=1":      "INVALID_PARAMETER",
		"proof?id=" + id + "&epoch=7":     "INVALID_PARAMETER",
		"proof?k=0":                       "INVALID_PARAMETER",
		"proof?currency=EUR&k=x":          "INVALID_PARAMETER",
		"proof?currency=EUR&k=-1":         "INVALID_PARAMETER",
		"proof?currency=EUR&k=0&id=" + id: "INVALID_PARAMETER",
		"proof?currency=EUR&k=999":        "RECEIPT_NOT_FOUND",
		"proof?currency=XXX&k=0":          "RECEIPT_NOT_FOUND",
		"consistency":                     "INVALID_PARAMETER",
		"consistency?old=-1":              "INVALID_PARAMETER",
		"consistency?old=2&new=1":         "INVALID_PARAMETER",
		"consistency?old=1&new=999999":    "INVALID_PARAMETER",
		"tile/0/000":                      "NO_SUCH_PATH",
		"tile/0/000.p/255":                "NO_SUCH_PATH",
		"tile/0/x/../000.p/1":             "NO_SUCH_PATH",
		"tile/":                           "NO_SUCH_PATH",
		"other":                           "NO_SUCH_PATH",
	} {
		if got := a.log(path); got.status < 400 || got.reason(t) != reason {
			t.Errorf("%s: %d %s; want %s", path, got.status, got.body, reason)
		}
	}
	foreign, unknown := other.log("proof?id="+id), other.log("proof?id="+strings.Repeat("0", len(id)))
	if foreign.status != http.StatusNotFound || foreign.reason(t) != "RECEIPT_NOT_FOUND" ||
		foreign.json(t)["message"] != unknown.json(t)["message"] {
		t.Errorf("a foreign call: %d %s; an unknown one: %s", foreign.status, foreign.body, unknown.body)
	}
	for _, path := range []string{"checkpoint", "proof?id=" + id, "consistency?old=1", "tile/0/000.p/1"} {
		if got := g.do("GET", "/api/log/"+path, nil, nil); got.status != http.StatusUnauthorized {
			t.Errorf("%s without a PAT: %d %s", path, got.status, got.body)
		}
	}
}

func TestLogIsPublishedAsConfigured(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{config: logged(", publish: public")})
	a := g.newAgent("agent-1").agree()
	id := a.chargedCall()
	if got := a.logProof("id=" + id); got.status != http.StatusOK {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	for _, path := range []string{"checkpoint", "proof?id=" + id, "consistency?old=1", "tile/0/000.p/1"} {
		if got := g.do("GET", "/api/log/"+path, nil, nil); got.status != http.StatusOK {
			t.Errorf("public: %s: %d %s", path, got.status, got.body)
		}
	}
	if got := g.do("GET", "/api/log/proof?currency=EUR&k=0", nil, nil); got.status != http.StatusUnauthorized {
		t.Errorf("public: an entry of no account: %d %s", got.status, got.body)
	}
	g.write("uimgate.yaml", strings.ReplaceAll(logged(", publish: off"), "UPSTREAM", g.upstream.server.URL))
	if got := g.adminDo("POST", "/admin/v1/reload", nil); got.status != http.StatusOK {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if got := a.log("checkpoint"); got.status != http.StatusNotFound || got.reason(t) != "NO_SUCH_PATH" {
		t.Errorf("off: %d %s", got.status, got.body)
	}
	if got := g.do("GET", "/agents.json", nil, nil); bytes.Contains(got.body, []byte(`"uim-log"`)) || !bytes.Contains(got.body, []byte(`"uim-log-key"`)) {
		t.Errorf("off: %s", got.body)
	}
	without := startGate(t, setup{config: testConfig + "evidence: {log: false}\n"})
	if got := without.do("GET", "/agents.json", nil, nil); bytes.Contains(got.body, []byte("uim-log")) {
		t.Errorf("without a log: %s", got.body)
	}
}
