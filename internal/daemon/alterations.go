package daemon

import (
	"errors"
	"sync"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// alterations records which entries of the ledger were found altered, by a check or by the request of a client. It implements
// gateway.Alterations.
type alterations struct {
	mu       sync.Mutex
	wrong    error // the first finding; nil: none
	accounts map[alteredAgent]error
}

type alteredAgent struct {
	service string
	agent   pat.AgentID
}

// mostAltered is the maximum number of agents whose altered entries are recorded.
const mostAltered = 10_000

// Found implements gateway.Alterations.
func (a *alterations) Found(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.wrong == nil {
		a.wrong = err
	}
	if of, ok := errors.AsType[*store.AlteredError](err); ok && len(a.accounts) < mostAltered {
		if a.accounts == nil {
			a.accounts = map[alteredAgent]error{}
		}
		a.accounts[alteredAgent{of.Service, of.AgentID}] = of
	}
}

// Of implements gateway.Alterations.
func (a *alterations) Of(service string, agent pat.AgentID) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.accounts[alteredAgent{service, agent}]
}

// first returns the first finding, or nil.
func (a *alterations) first() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.wrong
}

// clear forgets all findings. A check of the whole ledger has found none.
func (a *alterations) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wrong, a.accounts = nil, nil
}

// trouble describes what is wrong with the ledger, or returns "". Anyone may request /readyz, so it names no agent.
func (a *alterations) trouble() string {
	if a.first() == nil {
		return ""
	}
	return "the ledger does not add up: see the log, and uimgate verify-ledger"
}
