package execute

import "time"

// A Step is a step of a call. The values are in the order of the steps. See UIM core, section 3.1.
type Step int

// The steps of a call. Every call begins with Authenticate; which of the others it reaches depends on its outcome. Only calls with a
// proof of key reach Prove.
const (
	Authenticate Step = iota
	Resolve
	Validate
	Prove
	Decide
	Begin // with the wait for a place among the calls in progress
	Send  // the call to the service, with all attempts
	Shape
	Settle
	steps
)

// String returns the name of the step: authenticate, resolve, validate, prove, decide, begin, call, shape or settle.
func (s Step) String() string {
	return [steps]string{"authenticate", "resolve", "validate", "prove", "decide", "begin", "call", "shape", "settle"}[s]
}

// StepTimes are the times at which the steps of a call began, as durations since Event.At. A step lasts until the next one begins, or
// until the end of the call.
type StepTimes [steps]time.Duration

// Began returns when a step began, as a duration since Event.At, and whether the call reached the step.
func (t *StepTimes) Began(s Step) (time.Duration, bool) { return t[s] - 1, t[s] > 0 }

// begins records the time at which a step begins. Authenticate may run again after Resolve has begun; only its first time is recorded.
func (x *Executor) begins(e *execution, s Step) {
	if e.steps[s] == 0 {
		e.steps[s] = 1 + max(0, x.cfg.Now().Sub(e.started)) // 0: not reached
	}
}
