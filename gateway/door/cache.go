package door

import (
	"maps"
	"sync"

	"github.com/uimgate/uimgate/gateway/service"
)

// A Cache holds the values that a Door builds once for each service, such as a document. The zero value is an empty cache. It is safe for
// concurrent use.
type Cache[T any] struct {
	mu sync.Mutex
	of map[*service.Definition]T
}

// Get returns the cached value of a service. If there is none, or if good returns false for it, Get calls build and caches the value that
// build returns. good may be nil. Get does not cache errors of build. When Get caches a value after a reload, it deletes the value of the
// service that s replaced.
func (m *Cache[T]) Get(s *service.Definition, good func(T) bool, build func() (T, error)) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if one, ok := m.of[s]; ok && (good == nil || good(one)) {
		return one, nil
	}
	one, err := build()
	if err != nil {
		return one, err
	}
	maps.DeleteFunc(m.of, func(old *service.Definition, _ T) bool { return old.ID == s.ID })
	if m.of == nil {
		m.of = map[*service.Definition]T{}
	}
	m.of[s] = one
	return one, nil
}
