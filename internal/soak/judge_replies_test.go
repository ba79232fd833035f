package soak

import (
	"cmp"
	"errors"
	"slices"
)

// errTaken means that a gateway said that it would answer later, and did not.
var errTaken = errors.New("it was taken, and not answered")

// judgeReplies checks that a call which was taken, to be answered later, is answered at last: if the gateway was killed, when the
// same is sent again. What has no key is not sent again, nor is what had its answer before another attempt of it was lost: attempts of
// one call are made beside each other.
func (e *evidence) judgeReplies(breach func(string, ...any)) {
	for ref, of := range group(e.Attempts, func(a attempt) string { return a.Ref }) {
		last := slices.MaxFunc(of, func(a, b attempt) int { return cmp.Compare(a.Answered, b.Answered) })
		if last.Lost && last.Key != "" && slices.ContainsFunc(of, lostLater) && !slices.ContainsFunc(of, attempt.final) {
			breach("%s was taken, and never answered, though it was sent %d times", ref, len(of))
		}
	}
}

// lostLater reports whether an attempt was taken and not answered.
func lostLater(a attempt) bool { return a.Lost && a.Taken }

// repeatedReplies counts the calls that were taken, lost, and answered when they were sent again.
func (e *evidence) repeatedReplies() (n int) {
	for _, of := range group(e.Attempts, func(a attempt) string { return a.Ref }) {
		if slices.ContainsFunc(of, lostLater) && slices.ContainsFunc(of, func(a attempt) bool { return !a.Lost }) {
			n++
		}
	}
	return n
}
