package mrp

import (
	"context"

	"go.uber.org/zap"
)

// Activity is the operator's view of an agent at a relay.
type Activity struct {
	Connected bool  `json:"connected"` // whether the last request to the relay succeeded
	Working   int   `json:"working"`   // messages in progress
	Waiting   int   `json:"waiting"`   // messages that wait to be handled
	Answered  int64 `json:"answered"`  // replies since the agent started
	Lost      int64 `json:"lost"`      // replies that the relay or the recipient did not accept
	// LastError is the error of the last request to the relay; it is cleared once a request succeeds.
	LastError string `json:"last_error,omitempty"`
}

func (a *agent) activity() Activity {
	working, waiting := a.places.Counts()
	a.mu.Lock()
	defer a.mu.Unlock()
	return Activity{
		Connected: a.connected, Working: working, Waiting: waiting, Answered: a.answered.Load(), Lost: a.lost.Load(), LastError: a.lastError,
	}
}

// failed records an error of a request to the relay, and logs the error if it differs from the last recorded error. It ignores errors after
// ctx has ended.
func (a *agent) failed(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	text := what + ": " + err.Error()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.connected = false
	if a.lastError == text {
		return
	}
	a.lastError = text
	a.d.Log.Warn("a request to the MRP relay failed", zap.String("door", Name), zap.String("service", a.service), zap.String("problem", text))
}

// well records that a request to the relay succeeded.
func (a *agent) well() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lastError != "" {
		a.d.Log.Info("the MRP relay responds again", zap.String("door", Name), zap.String("service", a.service))
	}
	a.connected, a.lastError = true, ""
}
