package soak

import (
	"time"

	"github.com/uimgate/uimgate/store"
)

// A clock counts from the start of a run, and never jumps.
type clock struct{ began time.Time }

func newClock() clock { return clock{time.Now()} }

func (c clock) now() time.Duration { return time.Since(c.began) }

// evidence is everything that was recorded in a run. Judges use nothing else.
type evidence struct {
	Began    time.Time // on the wall clock
	Terms    []term
	Arrivals []arrival // the log of the upstream, in order
	Attempts []attempt // the requests of agents, and the responses
	Endings  []revocation
	Freezes  []freeze
	Lacking  span // the time whose counted calls the database lacks; zero if none are missing
	Probes   []probe
	Outages  []outage
	Attacked bool // by strangers, and by agents that take all resources they can get
	Faults   floor
	Declined int // how often an agent received the reason why its negotiation was declined

	Executions []store.Execution
	Ledger     []store.Entry
	Accounts   []store.Account
	Unbalanced error           // result of the store's own check of the balances
	Unapproved map[string]bool // agents that share one limit on their debt

	Logs map[string]string // by gateway
}

// An attempt is one request of an agent to one gateway.
type attempt struct {
	Ref      string // identifies the call; several attempts count as one call only if they share an idempotency key or a proof
	Key      string // Idempotency-Key
	Proof    string
	Way      string // the name of the way
	Gateway  string
	Agent    string
	Token    string
	Intent   string
	Sent     time.Duration // just before it was sent
	Answered time.Duration // just after the response; if it is lost, when the agent gave up
	Lost     bool          // there was no response
	Taken    bool          // the gateway accepted the call, to answer it later; if Lost, it did not answer

	Status     int
	Reason     string
	Outcome    string
	RetryAfter string
	Replayed   bool
	Execution  string // the id in UIM-Charge
	Charge     string // the state in UIM-Charge
	Receipt    string // UIM-Receipt
	Serial     int    // the number that the upstream sent in its response
}

// enveloped reports whether the envelope of the request is the proof of key.
func (a *attempt) enveloped() bool { return a.Way == wayEnvelope || a.Way == wayLater }

// A revocation ends one PAT, or all PATs of an agent.
type revocation struct {
	Agent     string
	Token     string // empty means all PATs of the agent
	Requested time.Duration
	Answered  time.Duration // the revocation was done by then; 0 if that is unknown
}

// ends reports whether the revocation applies to the PAT of an attempt.
func (e revocation) ends(a attempt) bool {
	return e.Agent == a.Agent && (e.Token == "" || e.Token == a.Token)
}

// A freeze is a time in which a gateway was stopped. It may have stopped slightly after From, but did not continue before To.
type freeze struct {
	Gateway  string
	From, To time.Duration
}

// A probe is one response of a gateway about its readiness.
type probe struct {
	Gateway        string
	Sent, Answered time.Duration
	Status         int
}

// An outage is a time in which a gateway certainly could not reach its store.
type outage struct {
	Gateway  string // empty means all gateways
	From, To time.Duration
}

func (o outage) of(gateway string) bool { return o.Gateway == "" || o.Gateway == gateway }
