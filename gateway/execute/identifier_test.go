package execute

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// Execution ids are UUIDv7 with the current time. Within a process they are unique and increase.
func TestExecutionIDsSortByTime(t *testing.T) {
	before := time.Now().Truncate(time.Millisecond)
	var made [8][]string
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() {
			for range 1000 {
				made[i] = append(made[i], newID())
			}
		})
	}
	all.Wait()
	ids := slices.Concat(made[:]...)
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 8000 {
		t.Error("an id was made twice")
	}
	for i, own := range made {
		if !slices.IsSorted(own) {
			t.Errorf("the ids of goroutine %d do not increase", i)
		}
		for _, text := range []string{own[0], own[999]} {
			id, err := uuid.Parse(text)
			if err != nil || id.Version() != 7 || id.Variant() != uuid.RFC4122 {
				t.Fatalf("%s: version %s, variant %s, %v", text, id.Version(), id.Variant(), err)
			}
			sec, nsec := id.Time().UnixTime()
			// 8,000 ids use up the sequence numbers of 2 ms.
			if at := time.Unix(sec, nsec); at.Before(before) || at.After(time.Now().Add(2*time.Millisecond)) {
				t.Errorf("%s is of %s", text, at)
			}
		}
	}
}

func TestNewRequestIDsAreUUIDs(t *testing.T) {
	a, b := RequestIDFrom(""), RequestIDFrom("")
	id, err := uuid.Parse(string(a))
	if err != nil || id.Version() != 4 || id.Variant() != uuid.RFC4122 || a == b {
		t.Errorf("%s, %s: %v", a, b, err)
	}
}
