package regex_test

import (
	"sync"
	"testing"

	"github.com/uimgate/uimgate/internal/regex"
)

func TestPatternIsCompiledOnce(t *testing.T) {
	digits := regex.Lazy(`^[0-9]+$`)
	if !digits().MatchString("42") || digits().MatchString("42a") {
		t.Error("the pattern does not match")
	}
	first := digits()
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if digits() != first {
				t.Error("compiled more than once")
			}
		})
	}
	all.Wait()
}

func TestInvalidPatternPanicsOnUse(t *testing.T) {
	broken := regex.Lazy(`(`)
	for range 2 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			broken()
		}()
	}
}
