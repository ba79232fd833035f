package a2a_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/uimgate/uimgate/gateway/gatetest"
)

var update = flag.Bool("update", false, "write what is answered into the transcripts, to be looked at")

// told are the headers of answers that transcripts show.
var told = []string{
	"A2a-Extensions", "Allow", "Content-Type", "Idempotency-Replayed", "Ratelimit", "Retry-After", "Uim-Charge", "Www-Authenticate",
}

// A transcript is one conversation with a gateway. In what is sent $PAT is the token of an agent that has agreed, $OTHER that of
// another one, $STALE one under an earlier policy, $TASK the id of the task told last, $PAGE the page token told last, and
// URL that of the gateway.
type transcript struct {
	*gatetest.Gate
	pat, other, stale, task, page string
}

// TestTranscripts sends what each transcript of testdata has, and expects the answers in it.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			g := gatetest.New(t, "", func(g *gatetest.Gate) {
				g.Write("agents.json", agents)
				g.Write("policy.json", strings.Replace(policy, "policy/1", "policy/0", 1))
			})
			g.Upstream = echoing
			c := &transcript{Gate: g, stale: g.Agreed("agent-0").Token}
			g.Write("policy.json", policy)
			g.Reload()
			c.pat, c.other = g.Agreed("agent-1").Token, g.Agreed("agent-2").Token
			for i := 0; i+1 < len(archive.Files); i++ {
				send, receive := archive.Files[i], &archive.Files[i+1]
				if !strings.HasPrefix(send.Name, "send") {
					continue
				}
				got := c.transcribe(g.Send(c.request(string(send.Data))))
				if *update {
					receive.Data = []byte(got)
				} else if want := strings.TrimSpace(string(receive.Data)); strings.TrimSpace(got) != want {
					t.Errorf("%s %s:\n%s\nwant:\n%s", file, send.Name, got, want)
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

var agents = strings.Replace(gatetest.AgentsFile, `"endpoint": {"url": "https://shop.example/orders"`, `"tags": ["shop", ""],
     "output_parameters": [{"name": "product", "type": "string", "required": true}],
     "endpoint": {"url": "https://shop.example/orders"`, 1)

// policy has a limit of six searches an hour.
var policy = strings.Replace(gatetest.PolicyFile, `{"target": "shop.example:search:v1", "action": "execute"}`,
	`{"target": "shop.example:search:v1", "action": "execute",
	  "constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 6, "unit": "hour"}]}`, 1)

// echoing is a service that says no to product "none", and breaks off for product "lost".
func echoing(w http.ResponseWriter, r *http.Request) {
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

// request is a request as a transcript writes it: method and path, headers, an empty line, the body.
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
	execution = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	random    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	nextPage  = regexp.MustCompile(`"nextPageToken":\s*"([^"]+)"`)
)

// transcribe writes an answer as transcripts have it.
func (c *transcript) transcribe(a gatetest.Answer) string {
	c.Helper()
	var b strings.Builder
	fmt.Fprintln(&b, a.Status)
	for _, name := range told {
		for _, value := range a.Header[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	if len(a.Body) > 0 {
		fmt.Fprintf(&b, "\n%s\n", pretty(a.Body))
	}
	if id := execution.Find(a.Body); id != nil {
		c.task = string(id)
	}
	text := b.String()
	if token := nextPage.FindStringSubmatch(text); token != nil {
		c.page = token[1]
		text = strings.ReplaceAll(text, c.page, "PAGE")
	}
	text = random.ReplaceAllString(execution.ReplaceAllString(text, "EXECUTION"), "UUID")
	return strings.ReplaceAll(text, c.URL, "URL")
}

// pretty is JSON that people can read, event by event; anything else as it is.
func pretty(body []byte) string {
	var out bytes.Buffer
	for i, event := range bytes.Split(bytes.TrimSpace(body), []byte("\n\n")) {
		if i > 0 {
			out.WriteString("\n\n")
		}
		document, streamed := bytes.CutPrefix(event, []byte("data: "))
		if streamed {
			out.WriteString("data: ")
		}
		if json.Indent(&out, document, "", "  ") != nil {
			return string(body)
		}
	}
	return out.String()
}
