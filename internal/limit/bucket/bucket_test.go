package bucket_test

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/limit/bucket"
)

func TestEachCallerHasABucketOfItsOwn(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	set := bucket.NewSet(limit.Rate{Max: 2, Period: "minute"})
	for n, want := range []bool{true, true, false} {
		if got := set.Admit("a", now); got != want {
			t.Errorf("call %d of a: got %t, want %t", n+1, got, want)
		}
	}
	if !set.Admit("b", now) {
		t.Error("b is held back for what a did")
	}
	if got, want := set.Wait(), 30*time.Second; got != want {
		t.Errorf("wait: got %s, want %s", got, want)
	}
	if set.Admit("a", now.Add(set.Wait()-time.Second)) {
		t.Error("a is admitted before the wait is over")
	}
	if !set.Admit("a", now.Add(set.Wait()+time.Second)) {
		t.Error("a is not admitted after the wait")
	}
}
