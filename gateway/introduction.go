package gateway

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/uimgate/uimgate/pat/keys"
)

// introducedFor is how long introductions are cached, because anyone may request the key set.
const introducedFor = time.Second

// introductions caches the entries of logs that introduce keys. It is safe for concurrent use.
type introductions struct {
	mu sync.Mutex
	of map[string]introducedKeys // by service
}

type introducedKeys struct {
	at      time.Time
	entries map[string]string // by kid
}

// entries returns the signed entries that introduce the keys of a service. If the store is unavailable, it returns those it has cached.
func (s *Server) entries(ctx context.Context, service string) map[string]string {
	i := &s.introductions
	i.mu.Lock()
	defer i.mu.Unlock()
	cached, now := i.of[service], s.Now()
	if s.Logs == nil || !cached.at.IsZero() && now.Sub(cached.at).Abs() < introducedFor {
		return cached.entries
	}
	list, err := s.Logs.LogEntries(ctx, service)
	if err != nil {
		return cached.entries
	}
	found := map[string]string{}
	for _, e := range list {
		if e.KeyID != "" {
			found[string(e.KeyID)] = e.Receipt
		}
	}
	if i.of == nil {
		i.of = map[string]introducedKeys{}
	}
	i.of[service] = introducedKeys{now, found}
	return found
}

// keySetOf returns the key set. Each key that an entry of the service's log introduces has the member uim_entry: the signed entry. Agents
// that trust an earlier key can therefore trust a new one.
func (s *Server) keySetOf(ctx context.Context, service string) ([]byte, error) {
	list := s.Keys.Keys(s.Now())
	entries := s.entries(ctx, service)
	for i, k := range list {
		text, ok := entries[string(k.ID)]
		if !ok {
			continue
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(k.JWK, &members); err != nil {
			return nil, err
		}
		members["uim_entry"] = json.RawMessage(`"` + text + `"`) // a compact JWS needs no escapes
		jwk, err := json.Marshal(members)
		if err != nil {
			return nil, err
		}
		list[i].JWK = jwk
	}
	return keys.SetOf(list)
}
