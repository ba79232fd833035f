package bindings_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	mrptest "github.com/uimgate/uimgate/internal/test/mrp"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/internal/wire/mrp/client"
	"github.com/uimgate/uimgate/internal/wire/mrp/e2e"
)

// delivers sends an encrypted body unchanged, like a relay that has stored or changed a message, and returns the reply of the service.
func delivers(t *testing.T, a *mrptest.Agent, body []byte) string {
	t.Helper()
	receipt, err := a.Send(t.Context(), wire.Send{Recipient: a.To, ContentType: wire.TypeEncrypted, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	m := answerTo(t, a, receipt.MessageID)
	if m.ContentType == wire.TypeEncrypted {
		if m, err = a.Open(m); err != nil {
			t.Fatal(err)
		}
	}
	return string(m.Body)
}

// A relay that stores messages can deliver them again under another id. The call is executed only once.
func TestRepeatedEncryptedCallIsExecutedOnce(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	a := agent(g)
	token := agrees(g, a)
	var reached atomic.Int64
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		_, _ = io.WriteString(w, `{"ok":true}`)
	}
	sealed, err := a.Seal(wire.Send{
		Recipient: a.To, ContentType: wire.TypeRequest,
		Body: fmt.Appendf(nil, `{"action":"uim:execute","params":%s}`, call(gatetest.Searching, token)),
	})
	g.Must(err)
	expect(t, "once", delivers(t, a, sealed.Body), `"output":{"ok":true}`, `"replayed":false`)
	expect(t, "again", delivers(t, a, sealed.Body), `"output":{"ok":true}`, `"replayed":true`)
	if reached.Load() != 1 {
		t.Errorf("%d calls reached the service, want 1", reached.Load())
	}
}

// A relay can change the content type outside the ciphertext. A message that was not encrypted as a request is not executed.
func TestRelayCannotChangeContentType(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	a := agent(g)
	text := fmt.Sprintf(`{"action":"uim:execute","params":%s}`, call(gatetest.Searching, agrees(g, a)))
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		t.Error("the service was called")
		_, _ = io.WriteString(w, `{}`)
	}
	for sealedAs, body := range map[string]string{wire.TypeJSON: text, wire.TypeText: jsonText(t, text), wire.TypeEvent: text} {
		sealed, err := a.Seal(wire.Send{Recipient: a.To, ContentType: sealedAs, Body: []byte(body)})
		g.Must(err)
		changed := strings.Replace(string(sealed.Body), `"ct_content_type":"`+sealedAs+`"`, `"ct_content_type":"`+wire.TypeRequest+`"`, 1)
		if changed == string(sealed.Body) {
			t.Fatalf("got %s", changed)
		}
		expect(t, sealedAs, delivers(t, a, []byte(changed)), `"code":"malformed_request"`)
	}
}

func jsonText(t *testing.T, s string) string {
	t.Helper()
	out, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// A relay cannot pass off the reply to one request as the reply to another, and a peer cannot reply without naming the request.
func TestEncryptedReplyIsBoundToRequest(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, shut)
	a := mrptest.New(t, g.RelayURL, strings.Repeat("A", 43), g.Now)
	peer := mrptest.New(t, g.RelayURL, a.ID(), g.Now)
	a.To, a.Encrypt = wire.KeyOf(peer.Key), true
	earlier, err := peer.Seal(wire.Send{Recipient: peer.To, ContentType: wire.TypeRequest, Body: []byte(`{"action":"earlier"}`)})
	g.Must(err)
	ended := make(chan error, 1)
	for name, to := range map[string][]byte{"another request": earlier.Body, "none": nil} {
		go func() {
			_, err := a.Call(t.Context(), wire.Send{Recipient: a.To, ContentType: wire.TypeRequest, Body: []byte(`{"action":"x"}`)},
				client.AskOptions{Encrypt: true, Bound: true})
			ended <- err
		}()
		page := client.Page{}
		for len(page.Messages) == 0 {
			page, err = peer.Poll(t.Context(), client.Filter{Wait: wire.MaxWait})
			g.Must(err)
		}
		answer := wire.Send{
			Recipient: peer.To, ContentType: wire.TypeResponse, Body: []byte(`{"status":"ok","result":1}`), InReplyTo: page.Messages[0].ID,
		}
		var sealed wire.Send
		if to == nil {
			sealed, err = e2e.SealSend(peer.Key, answer)
		} else {
			sealed, err = e2e.SealAnswer(peer.Key, answer, to)
		}
		g.Must(err)
		_, err = peer.Send(t.Context(), sealed)
		g.Must(err)
		if err := <-ended; !errors.Is(err, e2e.ErrAnswer) {
			t.Errorf("the answer to %s: %v, want %v", name, err, e2e.ErrAnswer)
		}
	}
}
