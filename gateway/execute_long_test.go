package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// If a long output is sent unchanged, only its beginning must be valid JSON. In the envelope of the draft, all of it must be.
func TestLongOutputs(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	items := strings.Repeat(`{"name":"lamp","price":1.50},`, 2000) + `{}`
	for name, tt := range map[string]struct {
		answer          string
		plain, enclosed int
	}{
		"valid":                       {" [" + items + "]\n", http.StatusOK, http.StatusOK},
		"duplicate name at the end":   {"[" + items + `,{"a":1,"a":2}]`, http.StatusOK, http.StatusBadGateway},
		"duplicate name at the start": {`[{"a":1,"a":2},` + items + `]`, http.StatusBadGateway, http.StatusBadGateway},
		"truncated":                   {"[" + items, http.StatusBadGateway, http.StatusBadGateway},
		"not JSON":                    {strings.Repeat("so sorry, ", 2000), http.StatusBadGateway, http.StatusBadGateway},
	} {
		g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(tt.answer)))
			_, _ = io.WriteString(w, tt.answer)
		}
		got := g.Execute(a, gatetest.Searching)
		if got.Status != tt.plain || got.Status == http.StatusOK && string(got.Body) != strings.TrimSpace(tt.answer) {
			t.Errorf("%s: %d %.200s", name, got.Status, got.Body)
		}
		if got := g.Execute(a, gatetest.Searching, "UIM-Version", "1.0"); got.Status != tt.enclosed {
			t.Errorf("%s, in the envelope of the draft: %d, want %d: %.200s", name, got.Status, tt.enclosed, got.Body)
		}
	}
}

// The buffers of outputs are reused. An agent must never receive a part of the output of another agent, not even in a replay.
func TestConcurrentLongOutputs(t *testing.T) {
	g := gatetest.New(t, "")
	agents := []*gatetest.Agent{g.Agreed("agent-1"), g.Agreed("agent-2"), g.Agreed("agent-3"), g.Agreed("agent-4")}
	g.Upstream = func(w http.ResponseWriter, r *http.Request) {
		who := r.Header.Get("UIM-Agent-Id")
		body := `{"of":["` + strings.Repeat(who+" ", 3000) + `"]}`
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = io.WriteString(w, body)
	}
	check := func(i int, got gatetest.Answer) {
		own := fmt.Sprintf("agent-%d ", i+1)
		if n := strings.Count(string(got.Body), own); got.Status != http.StatusOK || n != 3000 || strings.Count(string(got.Body), "agent-") != n {
			t.Errorf("%s: %d, %d of its own among %d", own, got.Status, n, strings.Count(string(got.Body), "agent-"))
		}
	}
	var calls sync.WaitGroup
	for i, a := range agents {
		calls.Go(func() {
			for n := range 20 {
				key := []string{}
				if n%4 == 0 {
					key = []string{"Idempotency-Key", fmt.Sprintf("%d-%d", i, n)}
				}
				check(i, g.Execute(a, gatetest.Searching, key...))
			}
		})
	}
	calls.Wait()
	for i, a := range agents {
		check(i, g.Execute(a, gatetest.Searching, "Idempotency-Key", fmt.Sprintf("%d-%d", i, 0)))
	}
}
