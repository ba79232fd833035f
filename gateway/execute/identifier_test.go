package execute

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// Ids of executions are UUIDv7 of the moment; within a process each is greater than those before it, and none is made twice.
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
			t.Errorf("those of goroutine %d do not sort as they were made", i)
		}
		for _, text := range []string{own[0], own[999]} {
			id, err := uuid.Parse(text)
			if err != nil || id.Version() != 7 || id.Variant() != uuid.RFC4122 {
				t.Fatalf("%s: version %s, variant %s, %v", text, id.Version(), id.Variant(), err)
			}
			sec, nsec := id.Time().UnixTime()
			// 8000 at once take 2 ms of the numbers within a millisecond
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
