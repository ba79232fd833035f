package bindings_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

// An inbox is the endpoint where the agent of seed receives later replies.
type inbox struct {
	*httptest.Server
	waiting sync.Map // session → chan []byte
}

func opensInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{}
	in.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		e, err := envelope.Parse(body)
		if err != nil {
			t.Errorf("%v: %s", err, body)
		}
		answer, ok := in.waiting.LoadAndDelete(e.Session)
		if !ok {
			t.Errorf("a reply to an unknown session: %s", body)
			return
		}
		answer.(chan []byte) <- body //nolint:forcetypeassert // the map holds only this type
	}))
	t.Cleanup(in.Close)
	in.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = atOnce //nolint:forcetypeassert // the type that httptest sets
	return in
}

// rules returns the configuration that names the agent's endpoint.
func (in *inbox) rules(t *testing.T) string {
	t.Helper()
	key, err := identity.FromSeed(seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("rules: {%s: %q}", key.Address(), in.URL)
}

// inEnvelopes makes the agent of seed agree. It returns the agent's PAT and the ways of envelopes with immediate and with later replies.
func inEnvelopes(g *gatetest.Gate, in *inbox) (token string, own map[string]way) {
	g.Helper()
	token = g.AgreedInEnvelope(seed).Token
	atOnce := inEnvelope(g)
	later := atOnce
	later.header = nil
	return token, map[string]way{"uAgents": atOnce, "uAgents, answered later": {
		done: atOnce.done, messages: func(number int64) []byte { return in.ask(g, later, later.signed(token, number)) },
	}}
}

// ask sends an envelope that the door must accept, and waits for the reply.
func (in *inbox) ask(g *gatetest.Gate, w way, text string) []byte {
	e, err := envelope.Parse([]byte(text))
	if err != nil {
		g.Error(err)
		return nil
	}
	answer := make(chan []byte, 1)
	in.waiting.Store(e.Session, answer)
	taken, err := in.Client().Do(w.request(g, "", strings.NewReader(text)))
	if err != nil {
		g.Error(err)
		return nil
	}
	defer taken.Body.Close()
	if body, err := io.ReadAll(taken.Body); taken.StatusCode != http.StatusOK || err != nil {
		g.Errorf("got %d %s %v; want %v and no error", taken.StatusCode, body, err, http.StatusOK)
		return nil
	}
	return <-answer
}
