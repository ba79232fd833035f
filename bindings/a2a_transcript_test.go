package bindings_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	bindtest "github.com/uimgate/uimgate/internal/test/bindings"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// a2aShownHeaders lists the header fields of responses that transcripts show.
var a2aShownHeaders = []string{
	"A2a-Extensions", "Allow", "Content-Type", "Idempotency-Replayed", "Ratelimit", "Retry-After", "Uim-Charge", "Www-Authenticate",
}

// A transcript is one conversation with a gateway. In requests, $PAT is the token of an agent that has agreed, $OTHER the token of another
// agent, $STALE a token under an earlier policy, $TASK the last task id, $PAGE the last page token, and URL the address of the gateway.
// If the comment contains "The store is gone.", the test closes the store of the gateway first.
type transcript struct {
	*gatetest.Gate
	pat, other, stale, task, page string
}

// TestA2ATranscripts sends the requests of each transcript in testdata/a2a, and compares the responses.
func TestA2ATranscripts(t *testing.T) {
	bindtest.Transcripts(t, "testdata/a2a", func(t *testing.T, archive *txtar.Archive) func(string) string {
		t.Helper()
		g := gatetest.New(t, "", func(g *gatetest.Gate) {
			g.Write("agents.json", agents)
			g.Write("policy.json", strings.Replace(policy, "policy/1", "policy/0", 1))
		})
		g.Upstream = a2aEchoing
		c := &transcript{Gate: g, stale: g.Agreed("agent-0").Token}
		g.Write("policy.json", policy)
		g.Reload()
		c.pat, c.other = g.Agreed("agent-1").Token, g.Agreed("agent-2").Token
		if strings.Contains(string(archive.Comment), "The store is gone.") {
			g.Must(g.Store.Close())
			g.Pass(3 * time.Second) // the cached revocations become too old
		}
		return func(sent string) string { return c.transcribe(g.Send(c.request(sent))) }
	})
}

var agents = strings.Replace(gatetest.AgentsFile, `"endpoint": {"url": "https://shop.example/orders"`, `"tags": ["shop", ""],
     "output_parameters": [{"name": "product", "type": "string", "required": true}],
     "endpoint": {"url": "https://shop.example/orders"`, 1)

// policy limits searches to six an hour.
var policy = strings.Replace(gatetest.PolicyFile, `{"target": "shop.example:search:v1", "action": "execute"}`,
	`{"target": "shop.example:search:v1", "action": "execute",
	  "constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 6, "unit": "hour"}]}`, 1)

// a2aEchoing is a service that rejects the product "none", and breaks the connection for the product "lost".
func a2aEchoing(w http.ResponseWriter, r *http.Request) {
	var body struct{ Product string }
	_ = json.NewDecoder(r.Body).Decode(&body)
	switch body.Product {
	case "none":
		http.Error(w, `{"error":"sold out"}`, http.StatusUnprocessableEntity)
	case "lost":
		panic(http.ErrAbortHandler)
	default:
		fmt.Fprintf(w, `{"path": %q, "query": %q,`+"\n"+` "product": %q}`, r.URL.Path, r.URL.Query().Get("query"), body.Product)
	}
}

// request parses a request of a transcript: method and path, headers, an empty line, and the body.
func (c *transcript) request(text string) *http.Request {
	c.Helper()
	text = strings.NewReplacer("$PAT", c.pat, "$OTHER", c.other, "$STALE", c.stale, "$TASK", c.task, "$PAGE", c.page).Replace(text)
	head, body, _ := strings.Cut(text, "\n\n")
	line, head, _ := strings.Cut(head, "\n")
	method, path, _ := strings.Cut(strings.TrimSpace(line), " ")
	r, err := http.NewRequestWithContext(c.Context(), method, c.URL+path, strings.NewReader(strings.TrimSpace(body)))
	c.Must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("UIM-Request-ID", "request-1")
	if !strings.Contains(head, "Authorization") {
		r.Header.Set("Authorization", "Bearer "+c.pat)
	}
	for line := range strings.Lines(head) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if value = strings.TrimSpace(value); value == "" {
			r.Header.Del(name)
		} else {
			r.Header.Set(name, value)
		}
	}
	return r
}

var (
	a2aExecution = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	random       = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	a2aReceipts  = regexp.MustCompile(`"receipt":\s*"[^"]+"`)
	nextPage     = regexp.MustCompile(`"nextPageToken":\s*"([^"]+)"`)
)

// transcribe formats a response for a transcript.
func (c *transcript) transcribe(a gatetest.Answer) string {
	c.Helper()
	if id := a2aExecution.Find(a.Body); id != nil {
		c.task = string(id)
	}
	text := bindtest.Show(a.Status, a.Header, a.Body, a2aShownHeaders)
	if token := nextPage.FindStringSubmatch(text); token != nil {
		c.page = token[1]
		text = strings.ReplaceAll(text, c.page, "PAGE")
	}
	text = a2aReceipts.ReplaceAllString(text, `"receipt": "RECEIPT"`)
	text = random.ReplaceAllString(a2aExecution.ReplaceAllString(text, "EXECUTION"), "UUID")
	return strings.ReplaceAll(text, c.URL, "URL")
}
