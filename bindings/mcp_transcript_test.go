package bindings_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	bindtest "github.com/uimgate/uimgate/internal/test/bindings"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// shownHeaders lists the header fields of responses that transcripts show.
var shownHeaders = []string{
	"Access-Control-Allow-Headers", "Access-Control-Allow-Methods", "Access-Control-Allow-Origin", "Allow", "Content-Type", "Idempotency-Replayed",
	"Ratelimit", "Retry-After", "Uim-Charge", "Www-Authenticate", "X-Accel-Buffering",
}

// TestTranscripts sends the requests of each transcript in testdata/mcp, and compares the responses. $PAT is the token of an agent that has
// agreed, and URL the address of the gateway.
func TestTranscripts(t *testing.T) {
	bindtest.Transcripts(t, "testdata/mcp", func(t *testing.T, archive *txtar.Archive) func(string) string {
		t.Helper()
		g := gatetest.New(t, "", filesOf(archive))
		g.Upstream = echoing
		pat := g.Agreed("agent-1").Token
		return func(sent string) string { return transcribe(g, g.Send(requestOf(g, sent, pat)), pat) }
	})
}

// filesOf returns a function that writes the service's files from a transcript.
func filesOf(archive *txtar.Archive) func(*gatetest.Gate) {
	return func(g *gatetest.Gate) {
		for _, f := range archive.Files {
			if f.Name == "agents.json" || f.Name == "policy.json" {
				g.Write(f.Name, string(f.Data))
			}
		}
	}
}

// echoing is a service that rejects the product "none".
func echoing(w http.ResponseWriter, r *http.Request) {
	var body struct{ Product string }
	_ = json.NewDecoder(r.Body).Decode(&body)
	if body.Product == "none" {
		http.Error(w, `{"error":"sold out"}`, http.StatusUnprocessableEntity)
		return
	}
	fmt.Fprintf(w, `{"path": %q, "query": %q, "product": %q}`, r.URL.Path, r.URL.Query().Get("query"), body.Product)
}

// requestOf parses a request of a transcript: an optional line with another method, headers, an empty line, and the body.
func requestOf(g *gatetest.Gate, text, pat string) *http.Request {
	g.Helper()
	filled := strings.NewReplacer("$PAT", pat, "URL", g.URL) // in one pass, because a PAT may contain the letters URL
	head, body, _ := strings.Cut(text, "\n\n")
	method := http.MethodPost
	r, err := http.NewRequestWithContext(g.Context(), method, g.URL+"/mcp",
		strings.NewReader(strings.TrimSpace(strings.ReplaceAll(body, "$PAT", pat))))
	g.Must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("UIM-Request-ID", "request-1")
	for line := range strings.Lines(head) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		switch value = filled.Replace(strings.TrimSpace(value)); {
		case !ok:
			r.Method = strings.TrimSpace(line)
		case name == "Host":
			r.Host = value
		case value == "":
			r.Header.Del(name)
		default:
			r.Header.Set(name, value)
		}
	}
	return r
}

// transcribe formats a response for a transcript.
func transcribe(g *gatetest.Gate, a gatetest.Answer, pat string) string {
	g.Helper()
	text := strings.ReplaceAll(bindtest.Show(a.Status, a.Header, a.Body, shownHeaders), g.URL, "URL")
	text = receipts.ReplaceAllString(text, `"UIM-Receipt": "RECEIPT"`)
	return strings.ReplaceAll(execution.ReplaceAllString(text, "EXECUTION"), pat, "$PAT")
}

// execution matches the ids of records, which differ in each run.
var receipts = regexp.MustCompile(`"UIM-Receipt":\s*"[^"]+"`)

var execution = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
