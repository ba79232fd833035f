package soak

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// load makes agents call until the load is over. It returns at once.
func (w *world) load() {
	w.t.Helper()
	regular := make([]*agent, 3)
	for i := range regular {
		regular[i] = w.agentNamed(fmt.Sprintf("regular-%d", i), 2)
		w.approve(regular[i])
	}
	w.known = regular
	hot, greedy := w.agentNamed("hot", 2), w.agentNamed("greedy", 2)
	poor := []*agent{w.agentNamed("poor-0", 1), w.agentNamed("poor-1", 1)} // not approved
	for _, a := range []*agent{hot, greedy, poor[0], poor[1]} {
		w.unapproved[a.id] = true
	}

	free := []string{browse, search, lookup, ceiled}
	for i := range 3 {
		w.caller(fmt.Sprintf("free%d", i), 2*time.Millisecond, func(ref string) { w.once(regular[i], pick(free), ref) })
	}
	for i := range 2 {
		w.caller(fmt.Sprintf("hot%d", i), 0, func(ref string) { w.once(hot, pulse, ref) })
	}
	for i := range 2 {
		w.caller(fmt.Sprintf("greedy%d", i), 0, func(ref string) { w.once(greedy, pick([]string{details, details, order}), ref) })
	}
	for i := range 4 {
		w.caller(fmt.Sprintf("buyer%d", i), 5*time.Millisecond, func(ref string) { w.buy(pick(regular), order, ref) })
	}
	w.caller("poor", 50*time.Millisecond, func(ref string) { w.buy(pick(poor), reserve, ref) })
	w.caller("sealer", 10*time.Millisecond, func(ref string) { w.sendSealed(pick(regular), ref) })
	for i := range 2 {
		w.caller(fmt.Sprintf("victim%d", i), 0, func(ref string) { w.revoked(ref) })
	}
	w.caller("renewer", 500*time.Millisecond, func(string) { w.addToken(pick(append(regular, hot, greedy))) })
	w.loadDoorAgents()
	w.caller("prober", 150*time.Millisecond, func(string) { w.probe() })
}

// caller is a worker that ends with the load.
func (w *world) caller(name string, between time.Duration, do func(ref string)) {
	w.worker(w.over, name, max(between, rest), do)
}

// worker repeats do until over is closed, each time with a new ref, and pauses in between.
func (w *world) worker(over <-chan struct{}, name string, between time.Duration, do func(ref string)) {
	w.loading.Go(func() {
		for n := 0; pause(over, between); n++ {
			do(fmt.Sprintf("%s-%d", name, n))
		}
	})
}

// once makes one attempt at any gateway, without a retry. The upstream drops the first request of some calls.
func (w *world) once(a *agent, intent, ref string) attempt {
	g := w.anyGateway()
	if g == nil {
		pause(w.over, 10*time.Millisecond)
		return attempt{Lost: true}
	}
	does := effectDone
	if w.singles.Add(1)%8 == 0 {
		does = effectCutOff
	}
	return (call{agent: a, token: a.token(), intent: intent, ref: ref + "." + string(does)}).at(g)
}

// buy makes one charged call. Every third call has no idempotency key, and is attempted only once. The others are repeated until a
// response is final, on any gateway, with any PAT of the agent, some of them twice at the same time. Some calls fail in various ways.
func (w *world) buy(a *agent, intent, ref string) {
	n := w.purchases.Add(1)
	c := call{agent: a, intent: intent, ref: ref + "." + string(effectOfPurchase(n))}
	if n%3 == 0 {
		if g := w.anyGateway(); g != nil {
			c.token = a.token()
			c.at(g)
		}
		return
	}
	c.key = "key-" + ref
	w.insist(w.over, int(n%2)+1, func(try int) (attempt, bool) { // every second call is sent once more than necessary
		g, other := w.anyGateway(), w.anyGateway()
		if g == nil {
			return attempt{}, false
		}
		c.token = a.token()
		if try == 0 && n%5 == 0 {
			w.loading.Go(func() { c.at(other) })
		}
		return c.at(g), true
	})
}

// insist makes attempts of one call until a final response arrives after at least this many other attempts, until triedFor has passed, or
// until over is closed.
func (w *world) insist(over <-chan struct{}, others int, once func(try int) (a attempt, made bool)) {
	for try, end := 0, w.clock.now()+triedFor; w.clock.now() < end; {
		a, made := once(try)
		if made && a.final() && try >= others {
			return
		}
		if made {
			try++
		}
		between := random(0, 50*time.Millisecond)
		if !pause(w.over, 0) { // the load is over, so the call waits until the one of a killed gateway has expired
			between = time.Second
		}
		if !pause(over, between) {
			return
		}
	}
}

// triedFor is how long a call is repeated: an envelope is valid for one minute.
const triedFor = 50 * time.Second

// effectOfPurchase returns the effect of the upstream on the nth charged call.
func effectOfPurchase(n int64) effect {
	switch {
	case n%100 == 99:
		return effectNoAnswer
	case n%17 == 0:
		return effectError
	case n%19 == 0:
		return effectConflict
	case n%23 == 0:
		return effectInvalidAnswer
	case n%29 == 0:
		return effectBrokenAnswer
	}
	return effectDone
}

// sendSealed sends one call with one proof to two gateways at the same time.
func (w *world) sendSealed(a *agent, ref string) {
	g, other := w.anyGateway(), w.anyGateway()
	if g == nil || other == nil {
		return
	}
	c := call{agent: a, token: a.token(), intent: sealed, ref: ref + "." + string(effectDone)}
	if err := c.prove(); err != nil {
		w.t.Error(err)
		return
	}
	w.loading.Go(func() { c.at(other) })
	c.at(g)
}

// addToken gets another PAT for an agent, by a new agreement or a renewal.
func (w *world) addToken(a *agent) {
	do := a.agree
	if random(0, 1) == 0 {
		do = a.renew
	}
	if g := w.anyGateway(); g != nil {
		_ = do(g) // if it fails, it is tried again later
	}
}

// approve approves an agent, which may then owe money on its own account.
func (w *world) approve(a *agent) {
	w.t.Helper()
	err := w.retry(func(g *gateway) error { return w.operate(g, "/agents/"+a.id+"/approve") })
	if err != nil {
		w.t.Fatal(err)
	}
}

// operate sends a request of the operator.
func (w *world) operate(g *gateway, path string) error {
	status, _, body, err := w.do(http.MethodPost, g.admin()+"/admin/v1"+path, nil, map[string]string{"Authorization": "Bearer " + adminToken})
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s: %d %.300s", path, status, body)
	}
	return err
}

// revoked runs the life of one agent: it agrees, calls, is revoked on one gateway, and continues to call all gateways for longer than a
// revocation may take.
func (w *world) revoked(ref string) {
	a, err := w.newAgent("agent-"+ref, 1)
	if err != nil {
		w.t.Error(err)
		return
	}
	quiet := make(chan struct{})
	defer close(quiet)
	for i := range 2 {
		w.worker(quiet, fmt.Sprintf("%s-%d", ref, i), 25*time.Millisecond, func(ref string) { w.once(a, details, ref) })
	}
	pause(nil, random(100*time.Millisecond, 300*time.Millisecond))
	t := a.token()
	e := revocation{Agent: a.id, Token: t.id, Requested: w.clock.now()}
	do := func(g *gateway) error { return w.operate(g, "/pats/"+t.id+"/revoke") }
	switch pick([]int{0, 1, 2}) {
	case 0:
		e.Token = ""
		do = func(g *gateway) error { return w.operate(g, "/agents/"+a.id+"/block") }
	case 1:
		do = func(g *gateway) error {
			status, _, body, err := w.do(http.MethodPost, g.url()+"/api/pat/revoke", nil, map[string]string{"Authorization": "Bearer " + t.text})
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("revoking: %d %.300s", status, body)
			}
			return err
		}
	}
	switch err := w.retry(do); {
	case err == nil:
	case w.loses && strings.Contains(err.Error(), ": 404 "): // the database no longer contains it
		return
	default:
		w.t.Errorf("revoking: %v", err)
		return
	}
	e.Answered = w.clock.now()
	w.mu.Lock()
	w.endings = append(w.endings, e)
	w.mu.Unlock()
	pause(nil, 1500*time.Millisecond)
}

func (w *world) probe() {
	for _, g := range w.gateways {
		url := g.admin()
		if url == "" || g == w.avoided.Load() {
			continue
		}
		sent := w.clock.now()
		status, _, _, err := w.do(http.MethodGet, url+"/readyz", nil, nil)
		if err != nil {
			continue
		}
		w.mu.Lock()
		w.probes = append(w.probes, probe{g.name, sent, w.clock.now(), status})
		w.mu.Unlock()
	}
}

// maxExtraTime is the maximum time by which a slow machine may load the gateways for longer than length. A busy machine needs minutes
// until enough has happened.
const maxExtraTime = 4 * time.Minute

// run loads the gateways for length, and longer until the floor is reached, and causes faults in the meantime.
func (w *world) run(least floor, faults func()) {
	w.t.Helper()
	w.over = make(chan struct{})
	w.load()
	w.during(least, faults)
}

// during waits for length, and longer until the floor is reached, and causes faults in the meantime. It then ends the load.
func (w *world) during(least floor, faults func()) {
	w.t.Helper()
	w.loading.Go(faults)
	began, reported := w.clock.now(), w.clock.now()
	for now := began; now < began+length || now < began+length+maxExtraTime && len(w.count().missing(least)) > 0; now = w.clock.now() {
		pause(nil, 50*time.Millisecond)
		if now > reported+5*time.Second {
			reported = now
			w.t.Logf("%6.1fs  %d attempts, %d reached the upstream", now.Seconds(), len(w.logs().Attempts), len(w.upstream.arrivals()))
		}
	}
	close(w.over)
	w.loading.Wait()
}
