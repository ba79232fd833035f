package acme

import (
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// watch returns a logger for the ACME client that also records the Retry-After header of responses. certmagic does not return the header,
// and it has no option for the HTTP client, but the client logs each response at level debug.
func (o *orders) watch(log *zap.Logger) *zap.Logger {
	return log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core { return responses{core, o} }))
}

// responses is a Core that reads the log entries about responses of the CA, at any log level.
type responses struct {
	zapcore.Core
	orders *orders
}

// Enabled implements zapcore.LevelEnabler.
func (r responses) Enabled(level zapcore.Level) bool {
	return level == zapcore.DebugLevel || r.Core.Enabled(level)
}

// With implements zapcore.Core.
func (r responses) With(fields []zapcore.Field) zapcore.Core {
	return responses{r.Core.With(fields), r.orders}
}

// Check implements zapcore.Core.
func (r responses) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	checked = r.Core.Check(e, checked)
	if e.Message == "http request" {
		checked = checked.AddCore(e, r)
	}
	return checked
}

// Write implements zapcore.Core. It records the header, and writes nothing, because Check has added the other Core as well.
func (r responses) Write(_ zapcore.Entry, fields []zapcore.Field) error {
	var header http.Header
	status := int64(0)
	for _, f := range fields {
		switch f.Key {
		case "response_headers":
			header, _ = f.Interface.(http.Header)
		case "status_code":
			status = f.Integer
		}
	}
	if status == http.StatusTooManyRequests {
		r.orders.limited(header.Get("Retry-After"))
	}
	return nil
}

// limited records the Retry-After header of a response with status 429: a number of seconds, or a date. See RFC 9110, section 10.2.3.
func (o *orders) limited(retryAfter string) {
	now := o.now()
	after := now.Add(limitPause)
	if seconds, err := strconv.ParseUint(retryAfter, 10, 31); err == nil {
		after = now.Add(time.Duration(seconds) * time.Second)
	} else if at, err := http.ParseTime(retryAfter); err == nil {
		after = at
	}
	if latest := now.Add(longestPause); after.After(latest) {
		after = latest
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.after = after
}

// limitedUntil returns the end of the pause that the CA demanded last. If it has demanded none, the pause is limitPause from now on.
func (o *orders) limitedUntil() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.after.IsZero() {
		return o.now().Add(limitPause)
	}
	return o.after
}
