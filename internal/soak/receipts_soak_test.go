//go:build soak

package soak

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	library "github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/receipts"
	proofs "github.com/uimgate/uimgate/evidence"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

const (
	honestCharges = 5000 // captured on each engine
	buyers        = 5
)

// The books of one gateway on SQLite prove 5,000 charges, although it is killed and restarted, its keys are rotated and its API fails.
func TestEvidenceOfSQLite(t *testing.T) {
	w := newWorld(t)
	g := newGateway(t, "a", w.configOfEvidence(""))
	w.gateways = []*gateway{g}
	w.startAll()
	w.chargeHonestly()
	w.judgeEvidence(g.statePath(), func() { sqlitetest.Alter(t, g.statePath(), alteration) })
}

// The same for two gateways that share a database of PostgreSQL. One of them appends to the log.
func TestEvidenceOfReplicas(t *testing.T) {
	server := pgtest.Start(t)
	place := server.Database(t)
	w := newWorld(t)
	for _, name := range []string{"a", "b"} {
		w.gateways = append(w.gateways, newGateway(t, name, w.configOfEvidence(place)))
	}
	w.startAll()
	w.chargeHonestly()
	w.judgeEvidence(place, func() {
		name, _, _ := strings.Cut(place[strings.LastIndexByte(place, '/')+1:], "?")
		if err := server.Exec(t.Context(), name, alteration); err != nil {
			t.Fatal(err)
		}
	})
}

// alteration changes one line of the ledger.
const alteration = "UPDATE ledger SET rule = 'https://shop.example/policy/2' WHERE seq = (SELECT MAX(seq) / 2 FROM ledger)"

func (w *world) configOfEvidence(place string) string {
	if place != "" {
		place = fmt.Sprintf("store: %q\n", place)
	}
	return place + fmt.Sprintf(`server: {listen: 127.0.0.1:0, per_address: 1000000/second, issue_per_address: 100000/minute, `+
		`drain_timeout: 10s}
admin: {listen: 127.0.0.1:0, token: %s}
billing: {credit: 1000000 EUR}
pat: {limit: 1000000/hour}
evidence: {publish: public}
services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {url: %s, timeout: %s, breaker: {failures: 10000, open_for: 100ms}}
  public_url: %s
`, adminToken, w.upstream.server.URL, upstreamTimeout, publicURL)
}

// RoundTrip implements http.RoundTripper for agents: it sends each request to any gateway that runs.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	g := w.anyGateway()
	if g == nil {
		return nil, errNoGateway
	}
	address := strings.TrimPrefix(g.url(), "http://")
	if address == "" {
		return nil, errNoGateway
	}
	sent := r.Clone(r.Context())
	sent.URL.Host, sent.Host = address, r.URL.Host
	return w.client.Transport.RoundTrip(sent)
}

// A buyer is an agent that keeps its receipts.
type buyer struct {
	w       *world
	service *library.Service
	id      string

	reconciled, excused, unchecked atomic.Int64
}

func (w *world) newBuyer(id string) *buyer {
	w.t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := library.New(library.Options{
		Key: key, AgentID: id, Receipts: w.t.TempDir(), Wrap: func(http.RoundTripper) http.RoundTripper { return w }, Timeout: patience,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	s, err := c.Discover(w.t.Context(), publicURL)
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := s.Policy(w.t.Context())
	if err == nil {
		_, err = s.Agree(w.t.Context(), library.Acceptance{Digest: p.Digest})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return &buyer{w: w, service: s, id: id}
}

// buy orders once. Now and then the API fails, or the agent gives up although the response to its request was lost.
func (b *buyer) buy(n int64, captured *atomic.Int64) {
	ref := fmt.Sprintf("%s-%d", b.id, n)
	switch {
	case n%17 == 0:
		ref += "." + string(effectError)
	case n%23 == 0:
		ref += "." + string(effectConflict)
	case n%29 == 0:
		ref += "." + string(effectCutOff)
	case n%251 == 0:
		ref += "." + string(effectNoAnswer)
	}
	for try := 0; ; try++ {
		got, err := b.service.Execute(b.w.t.Context(), order, map[string]any{"ref": ref}, library.ExecuteOptions{IdempotencyKey: ref})
		for _, p := range got.Discrepancies {
			switch p.Name { //nolint:exhaustive // all others are errors
			case proofs.ProblemKey, proofs.ProblemUnreceipted: // the gateway was killed before the agent could fetch the key or the receipt
				b.unchecked.Add(1)
			default:
				b.w.t.Errorf("%s: false alarm: %v", ref, p)
			}
		}
		if err == nil {
			if got.Receipt != nil && !got.Replayed {
				captured.Add(1)
			}
			return
		}
		if e, refused := errors.AsType[*library.Error](err); refused && e.Status != http.StatusServiceUnavailable ||
			n%31 == 0 || try == 20 || !pause(b.w.over, 50*time.Millisecond) {
			return
		}
	}
}

// reconcile compares the books of the gateway with those of the agent, while both change.
func (b *buyer) reconcile() receipts.Report {
	report, err := b.service.Reconcile(b.w.t.Context(), receipts.Period{})
	if err != nil {
		b.excused.Add(1) // the gateway was killed
		return report
	}
	b.reconciled.Add(1)
	if !report.OK {
		b.w.t.Errorf("%s: false alarm: %v", b.id, report.Problems)
	}
	return report
}

// chargeHonestly makes agents buy until enough charges are captured, and causes trouble in the meantime. Then it judges the books of the
// agents and the checkpoints that were published, while all gateways run.
func (w *world) chargeHonestly() {
	w.t.Helper()
	w.over = make(chan struct{})
	var list []*buyer
	for i := range buyers {
		list = append(list, w.newBuyer(fmt.Sprintf("buyer-%d", i)))
	}
	var captured, calls atomic.Int64
	var load sync.WaitGroup
	for _, b := range list {
		for range 4 {
			load.Go(func() {
				for captured.Load() < honestCharges && !w.t.Failed() {
					b.buy(calls.Add(1), &captured)
				}
			})
		}
		w.loading.Go(func() {
			for pause(w.over, random(2*time.Second, 4*time.Second)) {
				b.reconcile()
			}
		})
	}
	var seen checkpoints
	w.loading.Go(w.killLoop)
	w.loading.Go(w.rotateKeys)
	w.loading.Go(w.restartLoop)
	w.loading.Go(func() { seen.watch(w) })
	load.Wait()
	close(w.over)
	w.loading.Wait()
	w.t.Logf("%6.1fs  %d calls, %d captured", w.clock.now().Seconds(), calls.Load(), captured.Load())
	for _, b := range list {
		for end := w.clock.now() + time.Minute; ; pause(nil, time.Second) { // until everything is in the log and was looked for
			if report := b.reconcile(); report.OK && report.Unproven == 0 && report.Receipts > 0 || w.clock.now() > end || w.t.Failed() {
				w.t.Logf("%s: reconciled %d times, %d times without success; %d calls, %d receipts, %d unchecked at first", b.id,
					b.reconciled.Load()+b.excused.Load(), b.excused.Load(), report.Calls, report.Receipts, b.unchecked.Load())
				break
			}
		}
		if b.reconciled.Load() < 2 {
			w.t.Errorf("%s reconciled %d times, want also during the load", b.id, b.reconciled.Load())
		}
	}
	seen.judge(w)
	w.judgeBundles(list)
}

// rotateKeys replaces the keys of receipts and checkpoints some times.
func (w *world) rotateKeys() {
	rotated := 0
	for pause(w.over, random(time.Second, 3*time.Second)) && rotated < 8 {
		g := w.anyGateway()
		if g == nil {
			continue
		}
		body := mustJSON(map[string]string{"purpose": []string{"receipt", "log"}[rotated%2]})
		status, _, _, err := w.do(http.MethodPost, g.admin()+"/admin/v1/keys/rotate", body,
			map[string]string{"Authorization": "Bearer " + adminToken})
		if err == nil && status == http.StatusOK {
			rotated++
		}
	}
	if rotated < 4 {
		w.t.Errorf("rotated keys %d times, want at least 4", rotated)
	}
}

// restartLoop ends a gateway in order and starts it again, now and then.
func (w *world) restartLoop() {
	for pause(w.over, random(5*time.Second, 10*time.Second)) {
		if err := pick(w.gateways).restart(context.WithoutCancel(w.t.Context()), syscall.SIGTERM); err != nil {
			w.t.Error(err)
		}
	}
}

// judgeEvidence stops the gateways and verifies the ledger. Then it alters one line, which must be found.
func (w *world) judgeEvidence(place string, alter func()) {
	w.t.Helper()
	for _, g := range w.gateways {
		if err := g.end(syscall.SIGTERM); err != nil {
			w.t.Error(err)
		}
	}
	found, err := sqlstore.Verify(w.t.Context(), place)
	if err != nil {
		w.t.Errorf("false alarm: %v", err)
	}
	w.t.Logf("%6.1fs  %d entries", w.clock.now().Seconds(), found.Entries)
	alter()
	if _, err := sqlstore.Verify(w.t.Context(), place); !errors.Is(err, store.ErrAltered) {
		w.t.Errorf("after one line was altered: got %v, want %v", err, store.ErrAltered)
	}
}

// uimgateBinary builds the command.
func (w *world) uimgateBinary() string {
	w.t.Helper()
	out := filepath.Join(w.t.TempDir(), "uimgate")
	if text, err := run(w.t, "go", "build", "-o", out, "../../cmd/uimgate"); err != nil {
		w.t.Fatalf("%v\n%s", err, text)
	}
	return out
}
