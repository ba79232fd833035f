package bindings_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	bindtest "github.com/uimgate/uimgate/internal/test/bindings"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// TestMRPTranscripts sends the messages of each transcript in testdata/mrp, and compares the replies. In messages, $PAT represents the last
// token that was issued, and $AGREEMENT a new agreement that is signed with the agent's key.
func TestMRPTranscripts(t *testing.T) {
	t.Parallel()
	bindtest.Transcripts(t, "testdata/mrp", func(t *testing.T, _ *txtar.Archive) func(string) string {
		t.Helper()
		g := gatetest.New(t, settings)
		a, token := agent(g), ""
		digest, url := g.Directory.Current().Service("default").Offer().Digest, g.Directory.Current().Service("default").At("/api/pat/issue")
		return func(sent string) string {
			g.Later(time.Second)
			contentType, body, _ := strings.Cut(strings.TrimSpace(sent), "\n")
			body = strings.ReplaceAll(body, "$PAT", token)
			if strings.Contains(body, "$AGREEMENT") {
				body = strings.ReplaceAll(body, "$AGREEMENT", a.Agreement(t, url))
			}
			m := a.Say(t, contentType, body)
			var agreed struct {
				Result struct{ PAT string }
			}
			if json.Unmarshal(m.Body, &agreed) == nil && agreed.Result.PAT != "" {
				token = agreed.Result.PAT
			}
			var shown bytes.Buffer
			g.Must(json.Indent(&shown, m.Body, "", "  "))
			text := strings.ReplaceAll(m.ContentType+"\n"+shown.String()+"\n", digest, "$DIGEST")
			if token != "" {
				text = strings.ReplaceAll(text, token, "$PAT")
			}
			return made.ReplaceAllString(text, "ID")
		}
	})
}

// made matches ids that differ in each run.
var made = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
