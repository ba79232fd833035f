package soak

import (
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// runAndJudge loads the relays for length while they are killed, waits until all accepted messages have been received, and judges the run.
func (w *mailWorld) runAndJudge() {
	w.t.Helper()
	var recipients, senders sync.WaitGroup
	var to []wire.Key
	for i := range 4 {
		a := w.agent()
		to = append(to, wire.KeyOf(a.private))
		recipients.Go([]func(){a.polls, a.listens}[i%2])
	}
	for i := range 4 {
		a := w.agent()
		senders.Go(func() {
			for n := 0; pause(w.over, 2*time.Millisecond); n++ {
				a.send(pick(to), fmt.Sprintf("%d-%d", i, n))
			}
		})
	}
	senders.Go(w.agent().pries)
	senders.Go(w.killLoop)
	least := floor{"kills": 1, "accepted": 20 * floorTimes, "by poll": floorTimes, "acknowledged": 5 * floorTimes, "denied": floorTimes}
	for began := w.clock.now(); w.clock.now() < began+length ||
		w.clock.now() < began+length+maxExtraTime && len(w.count().missing(least)) > 0; {
		pause(nil, 250*time.Millisecond)
	}
	close(w.over)
	senders.Wait()
	for end := w.clock.now() + maxExtraTime; len(w.missing()) > 0 && w.clock.now() < end; {
		pause(nil, 50*time.Millisecond)
	}
	close(w.done)
	recipients.Wait()
	for _, r := range w.relays {
		if err := r.end(syscall.SIGTERM); err != nil {
			w.t.Errorf("orderly shutdown: %v", err)
		}
	}
	n := w.count()
	w.t.Logf("%6.1fs  %v", w.clock.now().Seconds(), n)
	if missing := n.missing(least); len(missing) > 0 {
		w.t.Errorf("too few events; want at least %v", missing)
	}
	for _, b := range w.judge() {
		w.t.Error(b)
	}
}

func (w *mailWorld) count() floor {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := floor{"kills": int(w.kills.Load()), "accepted": len(w.sends), "acknowledged": len(w.acks), "denied": w.denied}
	seen := map[string]int{}
	for _, r := range w.receipts {
		if seen[r.ID]++; seen[r.ID] > 1 {
			n["again"]++
		}
		if r.Late {
			n["searched for"]++
		}
	}
	for _, s := range w.sends {
		if s.Tries > 1 {
			n["sent again"]++
		}
	}
	n["by poll"] = len(w.receipts) - n["acknowledged"]
	return n
}

// missing returns the messages that a relay accepted and no agent received.
func (w *mailWorld) missing() (list []sendRecord) {
	w.mu.Lock()
	defer w.mu.Unlock()
	came := map[string]bool{}
	for _, r := range w.receipts {
		came[r.ID] = true
	}
	for _, s := range w.sends {
		if !came[s.ID] {
			list = append(list, s)
		}
	}
	return list
}

// judge compares the records of senders and recipients with the promises of a relay, and returns a few breaches of each promise.
func (w *mailWorld) judge() []string {
	found := slices.Clone(w.breaches[:min(len(w.breaches), maxBreaches)])
	breach := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	for _, s := range w.missing() {
		breach("message %s was accepted after %d tries, but never received", s.ID, s.Tries)
	}
	ids := map[string]string{} // the id of each message, by its ref; the sender may have tried several times
	same := func(ref, id string) {
		if ids[ref] != "" && ids[ref] != id {
			breach("%s was sent with one idempotency key, but became two messages, %s and %s", ref, ids[ref], id)
		}
		ids[ref] = id
	}
	for _, s := range w.sends {
		same(s.Ref, s.ID)
	}
	acked := map[string]time.Duration{}
	for _, a := range w.acks {
		if at, ok := acked[a.ID]; !ok || a.At < at {
			acked[a.ID] = a.At
		}
	}
	for _, r := range w.receipts {
		same(r.Ref, r.ID)
		if r.By != r.To {
			breach("message %s was delivered to the wrong agent", r.ID)
		}
		if at, ok := acked[r.ID]; ok && !r.Late && r.Asked > at {
			breach("message %s was delivered again on a socket opened at %v, although it was acknowledged at %v", r.ID, r.Asked, at)
		}
	}
	return found[:min(len(found), 4*maxBreaches)]
}

// The judge finds the breach in records that contain one, and no breach in the other records.
func TestJudgeOfRelays(t *testing.T) {
	t.Parallel()
	a, b := wire.Key{1}, wire.Key{2}
	for name, c := range map[string]struct {
		sends    []sendRecord
		receipts []receiptRecord
		breaches int
	}{
		"good":                              {[]sendRecord{{Ref: "r", ID: "m"}}, []receiptRecord{{Ref: "r", ID: "m", By: a, To: a, Asked: 1}}, 0},
		"again, before the acknowledgement": {nil, []receiptRecord{{Ref: "r", ID: "m", By: a, To: a, Asked: 1}, {Ref: "r", ID: "m", By: a, To: a, Asked: 2}}, 0},
		"lost":                              {[]sendRecord{{Ref: "r", ID: "m"}}, nil, 1},
		"to the wrong agent":                {nil, []receiptRecord{{Ref: "r", ID: "m", By: b, To: a}}, 1},
		"twice":                             {[]sendRecord{{Ref: "r", ID: "m"}}, []receiptRecord{{ID: "m"}, {Ref: "r", ID: "n"}}, 1},
		"acknowledged":                      {nil, []receiptRecord{{Ref: "r", ID: "m", By: a, To: a, Asked: 10}}, 1},
		"searched for":                      {nil, []receiptRecord{{Ref: "r", ID: "m", By: a, To: a, Asked: 10, Late: true}}, 0},
		"another message":                   {nil, []receiptRecord{{Ref: "s", ID: "n", By: a, To: a, Asked: 10}}, 0},
	} {
		w := &mailWorld{sends: c.sends, receipts: c.receipts, acks: []ackRecord{{"m", 5}}}
		if got := w.judge(); len(got) != c.breaches {
			t.Errorf("%s: %q, want length %v", name, got, c.breaches)
		}
	}
}
