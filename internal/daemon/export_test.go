package daemon

import "time"

// Slack makes what each request has beside reading and the upstream's timeout as short as d.
func (o *Options) Slack(d time.Duration) { o.slack = d }

// ListenError is the error of a listener that does not start.
var ListenError = listenError
