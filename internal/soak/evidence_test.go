package soak

import (
	"time"

	"github.com/uimgate/uimgate/store"
)

// A clock counts from the begin of a run, and never jumps.
type clock struct{ began time.Time }

func newClock() clock { return clock{time.Now()} }

func (c clock) now() time.Duration { return time.Since(c.began) }

// Evidence is everything that was recorded in a run. Judges use nothing else.
type evidence struct {
	Began    time.Time // on the wall clock
	Terms    []term
	Arrivals []arrival // the upstream's own log, in order
	Attempts []attempt // what agents sent, and the answers
	Endings  []ending  // revocations
	Freezes  []freeze
	Lacking  span // in which calls were counted that the database lacks; zero: none
	Probes   []probe
	Outages  []outage
	Attacked bool // by strangers and agents who want all there is
	Locks    int  // how often rows of the store were locked for seconds
	Declined int  // how often an agent that negotiates was told why not

	Executions []store.Execution
	Ledger     []store.Entry
	Accounts   []store.Account
	Unbalanced error           // result of the store's own check of the balances
	Unapproved map[string]bool // agents that share one bound on what they owe

	Logs map[string]string // of the gateways
}

// An attempt is one request of an agent to one gateway.
type attempt struct {
	Ref      string // of the call; several attempts are one call only under one idempotency key, or with one proof
	Key      string // Idempotency-Key
	Proof    string
	Way      string // how it came
	Gateway  string
	Agent    string
	Token    string
	Intent   string
	Sent     time.Duration // just before
	Answered time.Duration // just after; of a lost one, when it was given up
	Lost     bool          // without an answer
	Taken    bool          // the gateway said that it would answer later; Lost: it did not

	Status     int
	Reason     string
	Outcome    string
	RetryAfter string
	Replayed   bool
	Execution  string // of UIM-Charge
	Charge     string // state of UIM-Charge
	Serial     int    // the upstream's, in the answer
}

// enveloped reports whether the request is its own proof of key.
func (a *attempt) enveloped() bool { return a.Way == wayEnvelope || a.Way == wayLater }

// An ending is the revocation of one PAT, or of all an agent has.
type ending struct {
	Agent     string
	Token     string // empty: all of the agent
	Requested time.Duration
	Answered  time.Duration // it was done by then; 0: unknown
}

// ends reports whether it revokes the PAT of an attempt.
func (e ending) ends(a attempt) bool {
	return e.Agent == a.Agent && (e.Token == "" || e.Token == a.Token)
}

// A freeze is a time in which a gateway was stopped. It may have stopped a little later than From, but did not continue
// before To.
type freeze struct {
	Gateway  string
	From, To time.Duration
}

// A probe is one answer of a gateway about its readiness.
type probe struct {
	Gateway        string
	Sent, Answered time.Duration
	Status         int
}

// An outage is a time in which a gateway could certainly not reach its store.
type outage struct {
	Gateway  string // empty: all gateways
	From, To time.Duration
}

func (o outage) of(gateway string) bool { return o.Gateway == "" || o.Gateway == gateway }
