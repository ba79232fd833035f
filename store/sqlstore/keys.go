package sqlstore

import (
	"cmp"
	"slices"
	"strings"
)

// The keys of rows that calls read and change. They have an order, in which all writers lock them.
type (
	accountKey     struct{ service, agentID, currency string }
	poolKey        struct{ service, currency string }
	idempotencyKey struct{ service, agentID, key string }
	nonceKey       struct{ service, keyID, id string }
	executionKey   struct{ service, id string }
)

func (k counterKey) compare(o counterKey) int {
	return cmp.Or(strings.Compare(k.service, o.service), strings.Compare(k.agentID, o.agentID),
		strings.Compare(k.limitID, o.limitID), strings.Compare(string(k.period), string(o.period)))
}

func (k executionKey) compare(o executionKey) int {
	return cmp.Or(strings.Compare(k.id, o.id), strings.Compare(k.service, o.service))
}

func (k idempotencyKey) compare(o idempotencyKey) int {
	return cmp.Or(strings.Compare(k.service, o.service), strings.Compare(k.agentID, o.agentID), strings.Compare(k.key, o.key))
}

func (k nonceKey) compare(o nonceKey) int {
	return cmp.Or(strings.Compare(k.service, o.service), strings.Compare(k.keyID, o.keyID), strings.Compare(k.id, o.id))
}

func (k accountKey) compare(o accountKey) int {
	return cmp.Or(strings.Compare(k.service, o.service), strings.Compare(k.agentID, o.agentID), strings.Compare(k.currency, o.currency))
}

func (k poolKey) compare(o poolKey) int {
	return cmp.Or(strings.Compare(k.service, o.service), strings.Compare(k.currency, o.currency))
}

// sorted orders keys and removes duplicates.
func sorted[K comparable](keys []K, compare func(a, b K) int) []K {
	if len(keys) > 1 {
		slices.SortFunc(keys, compare)
	}
	return slices.Compact(keys)
}

func order[K comparable, V any](m map[K]V, compare func(a, b K) int) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	return sorted(keys, compare)
}
