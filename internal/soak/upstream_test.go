package soak

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// An effect is what the upstream does with a request. What follows the last dot of a call's ref asks for it.
type effect string

const (
	works    effect = "works"   // does it, and says so
	fails    effect = "fails"   // 500
	rejects  effect = "rejects" // 409
	misfits  effect = "misfits" // does it, and answers what does not fit the intent
	breaks   effect = "breaks"  // does it, and breaks off in the midst of its answer
	lingers  effect = "lingers" // answers nothing until the gateway gives up
	dawdling        = 5 * time.Millisecond
)

func effectOf(ref string) effect {
	if i := strings.LastIndexByte(ref, '.'); i >= 0 {
		return effect(ref[i+1:])
	}
	return works
}

// An arrival is a request as the upstream saw it.
type arrival struct {
	At        time.Duration // since the run began
	Execution string
	Agent     string
	Token     string
	Intent    string
	Ref       string // which call of which agent it is, as the agent named it
	Serial    int    // told in the answer
	Effect    effect
}

// An upstream writes down everything that reaches it.
type upstream struct {
	server *httptest.Server
	clock  clock

	mu   sync.Mutex
	seen []arrival
}

func newUpstream(t *testing.T, c clock) *upstream {
	t.Helper()
	u := &upstream{clock: c}
	u.server = httptest.NewServer(u)
	t.Cleanup(u.server.Close)
	return u
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := arrival{
		At: u.clock.now(), Execution: r.Header.Get("UIM-Execution-Id"), Agent: r.Header.Get("UIM-Agent-Id"), Token: r.Header.Get("UIM-Token-Id"),
		Intent: "shop.example:" + strings.TrimPrefix(r.URL.Path, "/") + ":v1", Ref: r.URL.Query().Get("ref"),
	}
	if r.Method == http.MethodPost {
		var body struct{ Ref string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil { // the gateway died in the midst of sending
			return
		}
		a.Ref = body.Ref
	}
	a.Effect = effectOf(a.Ref)
	u.mu.Lock()
	a.Serial = len(u.seen) + 1
	u.seen = append(u.seen, a)
	u.mu.Unlock()

	w.Header().Set("Content-Type", "application/json")
	answer := fmt.Sprintf(`{"ref":%q,"serial":%d}`, a.Ref, a.Serial)
	switch a.Effect {
	case fails:
		w.WriteHeader(http.StatusInternalServerError)
		answer = `{"message":"out of order"}`
	case rejects:
		w.WriteHeader(http.StatusConflict)
		answer = `{"message":"sold out"}`
	case misfits:
		answer = `{"other":1}`
	case breaks:
		w.Header().Set("Content-Length", "1000")
	case lingers:
		<-r.Context().Done()
		return
	case works:
		if r.Method == http.MethodPost {
			time.Sleep(dawdling) // an upstream takes its time, so that there is something to be killed in
		}
	}
	_, _ = io.WriteString(w, answer)
}

func (u *upstream) arrivals() []arrival {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]arrival(nil), u.seen...)
}
