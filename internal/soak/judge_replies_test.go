package soak

import (
	"cmp"
	"errors"
	"slices"
)

// errTaken means that a gateway accepted a call, to answer it later, and did not answer.
var errTaken = errors.New("the call was accepted, but not answered")

// judgeReplies checks that a call that was accepted, to be answered later, gets its reply eventually. If the gateway was killed, the reply
// comes when the agent sends the call again. Agents do not send two kinds of calls again, so they are not checked: calls without a key, and
// calls that got a reply before another attempt was lost, because attempts of one call may be concurrent.
func (e *evidence) judgeReplies(breach func(string, ...any)) {
	for ref, of := range group(e.Attempts, func(a attempt) string { return a.Ref }) {
		last := slices.MaxFunc(of, func(a, b attempt) int { return cmp.Compare(a.Answered, b.Answered) })
		if last.Lost && last.Key != "" && slices.ContainsFunc(of, lostLater) && !slices.ContainsFunc(of, attempt.final) {
			breach("%s was accepted, but never answered, although it was sent %d times", ref, len(of))
		}
	}
}

// lostLater reports whether an attempt was accepted, but not answered.
func lostLater(a attempt) bool { return a.Lost && a.Taken }

// repeatedReplies counts the calls that were accepted, lost, and answered after they were sent again.
func (e *evidence) repeatedReplies() (n int) {
	for _, of := range group(e.Attempts, func(a attempt) string { return a.Ref }) {
		if slices.ContainsFunc(of, lostLater) && slices.ContainsFunc(of, func(a attempt) bool { return !a.Lost }) {
			n++
		}
	}
	return n
}
