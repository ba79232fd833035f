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

// An effect is the reaction of the upstream to a request. The part of a call's ref after the last dot selects it.
type effect string

const (
	effectDone          effect = "works"   // is done, and answered
	effectError         effect = "fails"   // 500
	effectConflict      effect = "rejects" // 409
	effectInvalidAnswer effect = "misfits" // is done, but the answer does not match the intent
	effectBrokenAnswer  effect = "breaks"  // is done, but the answer is cut off
	effectNoAnswer      effect = "lingers" // no answer until the gateway's timeout
	effectCutOff        effect = "cuts"    // the first request ends without an answer, the next one is done
	effectFlood         effect = "floods"  // is done, and the answer is 8 MiB of empty objects
	answerDelay                = 5 * time.Millisecond
)

func effectOf(ref string) effect {
	if i := strings.LastIndexByte(ref, '.'); i >= 0 {
		return effect(ref[i+1:])
	}
	return effectDone
}

// An arrival is a request that the upstream received.
type arrival struct {
	At        time.Duration // since the start of the run
	Execution string
	Agent     string
	Token     string
	Intent    string
	Ref       string // the ref of the call
	Serial    int    // number that is sent in the answer
	Effect    effect
}

// An upstream records everything that reaches it.
type upstream struct {
	server *httptest.Server
	clock  clock

	mu    sync.Mutex
	seen  []arrival
	cutOf map[string]bool // refs whose first request has arrived
}

func newUpstream(t *testing.T, c clock) *upstream {
	t.Helper()
	u := &upstream{clock: c, cutOf: map[string]bool{}}
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
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil { // the gateway was killed while sending
			return
		}
		a.Ref = body.Ref
	}
	a.Effect = effectOf(a.Ref)
	u.mu.Lock()
	a.Serial = len(u.seen) + 1
	if a.Effect == effectCutOff && u.cutOf[a.Ref] {
		a.Effect = effectDone
	}
	u.cutOf[a.Ref] = true
	u.seen = append(u.seen, a)
	u.mu.Unlock()

	w.Header().Set("Content-Type", "application/json")
	answer := fmt.Sprintf(`{"ref":%q,"serial":%d}`, a.Ref, a.Serial)
	switch a.Effect {
	case effectError:
		w.WriteHeader(http.StatusInternalServerError)
		answer = `{"message":"out of order"}`
	case effectConflict:
		w.WriteHeader(http.StatusConflict)
		answer = `{"message":"sold out"}`
	case effectInvalidAnswer:
		answer = `{"other":1}`
	case effectBrokenAnswer:
		w.Header().Set("Content-Length", "1000")
	case effectNoAnswer:
		<-r.Context().Done()
		return
	case effectCutOff:
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = c.Close()
		}
		return
	case effectFlood:
		answer = `{"more":[` + strings.Repeat("{},", 8<<20/3-10) + `{}]}`
	case effectDone:
		if r.Method == http.MethodPost {
			time.Sleep(answerDelay) // an upstream takes time, so that the gateway can be killed during a call
		}
	}
	_, _ = io.WriteString(w, answer)
}

func (u *upstream) arrivals() []arrival {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]arrival(nil), u.seen...)
}
