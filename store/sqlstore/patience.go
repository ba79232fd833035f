package sqlstore

import (
	"errors"
	"time"
)

// errUnanswered is the error of operations that waited behind a transaction the database did not answer in time. Nothing of them was run.
var errUnanswered = errors.New("the database does not answer")

// An unansweredError is the error of a transaction that got no answer for as long as an attempt may take. If it may have been committed,
// the error is unsure, too.
type unansweredError struct{ error }

func (e unansweredError) Unwrap() error { return e.error }

func isUnanswered(err error) bool {
	_, ok := errors.AsType[unansweredError](err)
	return ok
}

// patience returns the bound of one attempt at a batch, by its first operation. 0: there is none.
func (w *writer) patience(first *op) time.Duration {
	if first.rowSet != nil {
		return w.s.dialect.callPatience
	}
	return w.s.dialect.patience
}

// fail answers all callers that wait for a database that cannot be reached, or does not answer: one after another they would wait too
// long.
func (w *writer) fail(err error) {
	if w.next != nil {
		w.answer([]*op{w.next}, err)
		w.next = nil
	}
	for range len(w.lane) {
		select {
		case o, open := <-w.lane:
			if open {
				w.answer([]*op{o}, err)
			}
		default:
			return
		}
	}
}
