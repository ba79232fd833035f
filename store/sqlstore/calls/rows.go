package calls

import (
	"cmp"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// The keys of rows that calls read and change. All writers lock rows in the same order.
type (
	idempotencyKey struct{ service, agentID, key string }
	nonceKey       struct{ service, keyID, id string }
	ref            struct{ service, id string } // an execution, an agent or an agreement
)

func (k CounterKey) compare(o CounterKey) int {
	return cmp.Or(strings.Compare(k.Service, o.Service), strings.Compare(k.AgentID, o.AgentID),
		strings.Compare(k.LimitID, o.LimitID), strings.Compare(string(k.Period), string(o.Period)))
}

func (k ref) compare(o ref) int {
	return cmp.Or(strings.Compare(k.id, o.id), strings.Compare(k.service, o.service))
}

func (k idempotencyKey) compare(o idempotencyKey) int {
	return cmp.Or(strings.Compare(k.service, o.service), strings.Compare(k.agentID, o.agentID), strings.Compare(k.key, o.key))
}

func (k nonceKey) compare(o nonceKey) int {
	return cmp.Or(strings.Compare(k.service, o.service), strings.Compare(k.keyID, o.keyID), strings.Compare(k.id, o.id))
}

// sorted sorts keys and removes duplicates.
func sorted[K comparable](keys []K, compare func(a, b K) int) []K {
	if len(keys) > 1 {
		slices.SortFunc(keys, compare)
	}
	return slices.Compact(keys)
}

// A rowSet contains the keys of the rows that a call reads or changes. All rows of a batch are read before its first call runs. All writers
// read them in the same order, which prevents deadlocks.
type rowSet struct {
	agentID    string   // the agent id of the call
	begins     []string // the ids of executions that will begin
	executions []ref
	cached     []*store.Execution // changed from their cached state; read only if the cache is outdated
	keys       []idempotencyKey
	agreements []ref // that must be active
	budgets    []ref // agreements whose budgets must not change
	nonces     []nonceKey
	counters   []CounterKey
	accounts   []ledger.AccountKey
	pools      []ledger.PoolKey
	answers    []ref // agents with answers to store
}

// readCached moves the cached executions of a row set to those that are read. The first attempt to settle an execution does not read its
// record. It assumes that the record is as Begin left it, because until the deadline, only the call that began the execution changes it. If
// the record differs, because an operator, the sweeper of a process with another clock or an earlier settlement has changed it, the
// transaction is retried and reads the record.
func (n *rowSet) readCached() {
	for _, e := range n.cached {
		n.executions = append(n.executions, ref{e.Service, e.ID})
	}
	n.cached = nil
	n.executions = sorted(n.executions, ref.compare)
}
