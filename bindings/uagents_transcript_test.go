package bindings_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/uimgate/uimgate/bindings/uagents/almanac"
	bindtest "github.com/uimgate/uimgate/internal/test/bindings"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

// uagentsShownHeaders lists the header fields of responses that transcripts show.
var uagentsShownHeaders = []string{"Content-Type", "Idempotency-Replayed", "Ratelimit", "Uim-Charge"}

// TestUAgentsTranscripts sends the messages of each transcript in testdata/uagents, and compares the replies. A message is a model and a
// body, which the agent signs. $PAT represents the last token that was issued, and $DIGEST the digest of the policy. Replies are
// verified and opened. A transcript with settings of the door is a transcript of the Almanac, in the form of registryTranscript.
func TestUAgentsTranscripts(t *testing.T) {
	bindtest.Transcripts(t, "testdata/uagents", func(t *testing.T, archive *txtar.Archive) func(string) string {
		t.Helper()
		if first := archive.Files[0]; first.Name == "settings" {
			return registryTranscript(with(t, strings.TrimSpace(string(first.Data))))
		}
		p := opened(t)
		digest, token := p.Directory.Current().Service("default").Offer().Digest, ""
		return func(sent string) string {
			p.Later(time.Second)
			model, message, _ := strings.Cut(sent, "\n")
			message = strings.NewReplacer("$PAT", token, "$DIGEST", digest).Replace(strings.TrimSpace(message))
			a := p.submit(http.MethodPost, p.text(p.unsigned(model, message).Sign(p.key)))
			if _, err := envelope.Parse(a.Body); err == nil {
				name, text := p.opens(a)
				var agreed struct{ PAT string }
				if json.Unmarshal(text, &agreed) == nil && agreed.PAT != "" {
					token = agreed.PAT
				}
				var shown bytes.Buffer
				p.Must(json.Indent(&shown, text, "", "  "))
				a.Body = fmt.Appendf(nil, "%s\n%s", name, shown.Bytes())
			}
			text := strings.NewReplacer(p.URL, "URL", digest, "$DIGEST").Replace(bindtest.Show(a.Status, a.Header, a.Body, uagentsShownHeaders))
			if token != "" {
				text = strings.ReplaceAll(text, token, "$PAT")
			}
			return messageIDs.ReplaceAllString(uagentsMade.ReplaceAllString(text, "ID"), `"msg_id": "ID"`)
		}
	})
}

// registryTranscript sends requests to the Almanac of a service unchanged: the method and the path are on the first line, and the body
// follows. Each request is sent a second after the previous one. RESOLVE looks up an address with the client of this project.
func registryTranscript(p *uagentsPeer) func(string) string {
	return func(sent string) string {
		p.Later(time.Second)
		line, body, _ := strings.Cut(strings.TrimSpace(sent), "\n")
		method, path, _ := strings.Cut(line, " ")
		if method == "RESOLVE" {
			return resolved(p, identity.Address(path))
		}
		r, err := http.NewRequestWithContext(p.Context(), method, p.URL+almanac.Path+"/"+path, strings.NewReader(body))
		p.Must(err)
		a := p.Send(r)
		return bindtest.Show(a.Status, a.Header, a.Body, uagentsShownHeaders)
	}
}

// resolved returns the endpoints of an agent that the client of this project finds.
func resolved(p *uagentsPeer, of identity.Address) string {
	client := almanac.NewClient()
	defer client.Close()
	endpoints, err := client.Endpoints(p.Context(), p.URL, of)
	p.Must(err)
	var text strings.Builder
	for _, e := range endpoints {
		fmt.Fprintf(&text, "%s %d\n", e.URL, e.Weight)
	}
	return text.String()
}

// uagentsMade matches the ids of records, which differ in each run.
var uagentsMade = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)

// messageIDs matches the ids of the service's messages, which differ in each run.
var messageIDs = regexp.MustCompile(`"msg_id": "[0-9a-f-]{36}"`)
