package mrp

import (
	"context"

	"go.uber.org/zap"
)

// Activity is what the operator sees of an agent at a relay.
type Activity struct {
	Connected bool  `json:"connected"` // the last time that messages were asked for, the relay answered
	Working   int   `json:"working"`   // messages that are being answered
	Waiting   int   `json:"waiting"`   // that wait for that
	Answered  int64 `json:"answered"`  // since the agent began
	Lost      int64 `json:"lost"`      // answers that the relay or their recipient did not take
	// LastError is what went wrong last, and is gone once all is well.
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

// failed notes an error of the relay, and logs it where it is another one than the last. After the end nothing is one.
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

// well notes that the relay has answered.
func (a *agent) well() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lastError != "" {
		a.d.Log.Info("the relay of MRP answers again", zap.String("door", Name), zap.String("service", a.service))
	}
	a.connected, a.lastError = true, ""
}
