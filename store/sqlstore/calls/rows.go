package calls

import (
	"cmp"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// The keys of rows that calls read and change. All writers lock them in one order.
type (
	idempotencyKey struct{ service, agentID, key string }
	nonceKey       struct{ service, keyID, id string }
	ref            struct{ service, id string } // of an execution, an agent or an agreement
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

// sorted orders keys and removes duplicates.
func sorted[K comparable](keys []K, compare func(a, b K) int) []K {
	if len(keys) > 1 {
		slices.SortFunc(keys, compare)
	}
	return slices.Compact(keys)
}

// A rowSet holds the keys that a call reads or changes. All keys of a batch are read before its first call runs, in one order for all
// writers, which prevents deadlocks.
type rowSet struct {
	agentID    string   // of the call
	begins     []string // the ids of executions that are to begin
	executions []ref
	cached     []*store.Execution // changed from their cached state, and read only if they turn out to differ
	keys       []idempotencyKey
	nonces     []nonceKey
	counters   []CounterKey
	accounts   []ledger.AccountKey
	pools      []ledger.PoolKey
	answers    []ref // whose answers are kept
}

// readCached makes a row set read the rows that it took from the cache before. A call settles the execution that it began. Until its
// deadline only the call changes that, so the record is not read before it is changed: the change must find it as Begin left it. If it
// does not, because an operator, the sweeper of a process with another clock or an earlier settlement was faster, the transaction is
// retried, and reads.
func (n *rowSet) readCached() {
	for _, e := range n.cached {
		n.executions = append(n.executions, ref{e.Service, e.ID})
	}
	n.cached = nil
	n.executions = sorted(n.executions, ref.compare)
}
