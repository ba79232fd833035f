package intents_test

import (
	"sync"
	"testing"
)

// Concurrent calls share one catalogue. The library checks some parts of the schema, and the walk the others.
func TestConcurrentValidate(t *testing.T) {
	i := with(t, `[{"name": "a", "type": "array", "items": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/x"}]},
		"$defs": {"x": {"type": "string", "pattern": "^[a-z]+$"}}}, {"name": "b", "type": "string", "format": "date", "default": "2026-11-22"}]`)
	good, bad := object(t, `{"a": [1, "x"]}`), object(t, `{"a": [1, "X"], "b": "today"}`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if filled, violations := i.Validate(good); len(violations) > 0 || filled["b"] != "2026-11-22" {
					t.Errorf("got %v and %v, want the default and no violation", filled, violations)
				}
				if _, violations := i.Validate(bad); len(violations) == 0 {
					t.Error("got no violation, want some")
				}
			}
		})
	}
	all.Wait()
}
