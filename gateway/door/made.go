package door

import (
	"maps"
	"sync"

	"github.com/uimgate/uimgate/gateway/service"
)

// Made is what a Door makes of each service when it is first asked for, such as a document. The zero value is ready, and safe
// for concurrent use.
type Made[T any] struct {
	mu sync.Mutex
	of map[*service.Definition]T
}

// Get returns what was made of a service, if that is still good, or else what is made now; good may be nil. A reload makes other
// services: what was made of those that are gone is forgotten.
func (m *Made[T]) Get(s *service.Definition, good func(T) bool, build func() (T, error)) (T, error) {
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
