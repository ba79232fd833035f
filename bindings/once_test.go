package bindings_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

// TestIdempotencyAcrossDoors repeats a call through every door. Under the key of an earlier call, each door returns the stored result; a
// proof that was used at one door is rejected by all doors.
func TestIdempotencyAcrossDoors(t *testing.T) {
	t.Parallel()
	for first := range ways {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			g := gatetest.New(t, "")
			var reached atomic.Int64
			g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
				reached.Add(1)
				fmt.Fprint(w, `{"lamps":1}`)
			}
			a := g.Agreed("agent-1")
			digest, err := pat.ExecuteDigest(gatetest.Searching, map[string]any{"query": "lamp"})
			g.Must(err)
			proof, err := pat.SignProof(a.Key, pat.ProofBinding{Audience: "shop.example", TokenID: g.TokenID(a), Digest: digest}, g.Now())
			g.Must(err)
			made := int64(0)
			ask := func(name, header, value string) []byte {
				made++
				w := ways[name]
				r := w.request(g, a.Token, strings.NewReader(w.numbered(a.Token, made)))
				r.Header.Set(header, value)
				return g.Send(r).Body
			}
			for _, sent := range [][2]string{{"Idempotency-Key", "key-1"}, {"UIM-Proof", proof}} {
				before := reached.Load()
				if answer := ask(first, sent[0], sent[1]); !bytes.Contains(answer, []byte(ways[first].done)) {
					t.Fatalf("%s: %s", sent[0], answer)
				}
				for then, w := range ways {
					answer := ask(then, sent[0], sent[1])
					again := bytes.Contains(answer, []byte(w.done))
					if refused := bytes.Contains(answer, []byte("PROOF_REPLAYED")); again == refused || refused != (sent[0] == "UIM-Proof") {
						t.Errorf("%s, then %s: %s", sent[0], then, answer)
					}
				}
				if n := reached.Load() - before; n != 1 {
					t.Errorf("%s: the service was called %d times", sent[0], n)
				}
			}
		})
	}
}
