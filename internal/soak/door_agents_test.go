package soak

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// A doorAgent is an agent of another protocol. Its PATs are also valid over HTTP.
type doorAgent struct {
	*agent
	hungry bool // it only makes calls that exceed its limits
	// agrees makes an agreement over the agent's protocol, on the given gateway or another one.
	agrees func(g *gateway) error
	// token returns a PAT that permits an intent.
	token func(intent string) token
	// ways return the ways for one call. A way may send the call several times.
	ways []func(c call) way
	paid string // the charged intent that it calls
	// at returns the gateway for the next call, or nil if none is running.
	at func() *gateway
}

// invite creates agents of other protocols, so that all doors are under load. Every gateway has all doors.
func (w *world) invite() {
	w.t.Helper()
	w.doorAgents = append(w.inbox.doorAgents(w), w.negotiators()...)
	var agreeing errgroup.Group
	for _, a := range w.doorAgents {
		agreeing.Go(func() error {
			return errors.Join(w.retry(a.agrees), w.retry(func(g *gateway) error { return w.operate(g, "/agents/"+a.id+"/approve") }))
		})
	}
	if err := agreeing.Wait(); err != nil {
		w.t.Fatal(err)
	}
}

// doorAgentsFloor is usualFloor plus the minimum for the calls of the door agents.
func doorAgentsFloor() floor {
	least := usualFloor()
	for _, way := range []string{wayEnvelope, wayLater, wayRequest, wayBytes} {
		least["done by "+way] = 5 * floorTimes
	}
	least["upstream "+pledge] = 10 * floorTimes
	return least
}

// killedFloor is doorAgentsFloor plus the minimum for events that kills cause.
func killedFloor() floor {
	least := doorAgentsFloor()
	least["answered after resending"], least["kills"] = 1, 2*floorTimes
	return least
}

func (w *world) loadDoorAgents() {
	for i, a := range w.doorAgents {
		if a.hungry { // over its protocol and over HTTP at the same time, under the same limits
			w.caller(fmt.Sprintf("hungry%d", i), 2*time.Millisecond, func(ref string) {
				w.onceAs(a, pick([]string{browse, browse, ceiled}), ref)
			})
			continue
		}
		w.caller(fmt.Sprintf("doorAgent%d", i), 10*time.Millisecond, func(ref string) { w.buyAs(a, ref) })
		w.caller(fmt.Sprintf("anew%d", i), 500*time.Millisecond, func(string) {
			if g := a.at(); g != nil {
				_ = a.agrees(g) // if it fails, the agent tries again later
			}
		})
	}
}

// onceAs makes one attempt of a free call, over any way.
func (w *world) onceAs(a *doorAgent, intent, ref string) {
	g := a.at()
	if g == nil {
		pause(w.over, 10*time.Millisecond)
		return
	}
	c := call{agent: a.agent, token: a.token(intent), intent: intent, ref: ref + "." + string(effectDone)}
	if by := pick(append(a.ways, nil)); by != nil {
		c.by = by(c)
	}
	c.at(g)
}

// buyAs makes one charged call. It is repeated over the same way until a response is final, and once more than necessary. Some calls are
// sent twice at the same time: over HTTP under the same key, or in the same envelope.
func (w *world) buyAs(a *doorAgent, ref string) {
	n := w.purchases.Add(1)
	c := call{agent: a.agent, token: a.token(a.paid), intent: a.paid, key: "key-" + ref, ref: ref + "." + string(effectOfPurchase(n))}
	by := pick(a.ways)
	c.by = by(c)
	over := w.over
	if c.by.name() == wayLater { // an accepted call must be answered, even after the load
		over = nil
	}
	w.insist(over, 1, func(try int) (attempt, bool) {
		g, other := a.at(), w.anyGateway()
		if g == nil || other == nil {
			return attempt{}, false
		}
		if try == 0 && n%5 == 0 {
			beside := c
			if a.paid == order { // it needs no proof
				beside.by = nil
			}
			w.loading.Go(func() { beside.at(other) })
		}
		got := c.at(g)
		if got.usedUp() {
			c.by = by(c)
		}
		return got, true
	})
}

// doorAgentsRestored checks, on a gateway whose state was replaced with a backup, that the PATs of these agents have ended, and that each
// agent can agree again and pay over all of its ways.
func (w *world) doorAgentsRestored(g *gateway) {
	w.t.Helper()
	for _, a := range w.doorAgents {
		if a.hungry { // its limits are exhausted
			continue
		}
		again := func(when string, want int) {
			w.t.Helper()
			for i := range a.ways {
				c := call{agent: a.agent, token: a.token(a.paid), intent: a.paid, ref: fmt.Sprintf("%s-%s-%d.%s", when, a.id, i, effectDone)}
				c.key = "key-" + c.ref
				c.by = a.ways[i](c)
				if got := c.at(g); got.Status != want {
					w.t.Errorf("%s PAT, by %s: %+v; want Status %v", when, c.by.name(), got, want)
				}
			}
		}
		again("old", http.StatusUnauthorized)
		a.tokens = nil
		if err := w.retry(a.agrees); err != nil {
			w.t.Fatalf("%s agrees again: %v", a.id, err)
		}
		again("anew", http.StatusOK)
	}
}
