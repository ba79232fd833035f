package mrp

import (
	"context"

	"go.uber.org/zap"
)

// Activity is the operator's view of an agent at a relay.
type Activity struct {
	Connected bool  `json:"connected"` // the relay's last response to a request for messages
	Working   int   `json:"working"`   // messages in progress
	Waiting   int   `json:"waiting"`   // messages that wait
	Answered  int64 `json:"answered"`  // since the agent started
	Lost      int64 `json:"lost"`      // replies that the relay or their recipient did not accept
	// LastError is the last error; it is cleared once the relay responds.
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

// failed records an error of the relay, and logs it if it differs from the last. It ignores errors after the end.
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
	a.d.Log.Warn("the relay of MRP", zap.String("door", Name), zap.String("service", a.service), zap.String("problem", text))
}

// well records that the relay has responded.
func (a *agent) well() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lastError != "" {
		a.d.Log.Info("the relay of MRP answers again", zap.String("door", Name), zap.String("service", a.service))
	}
	a.connected, a.lastError = true, ""
}
