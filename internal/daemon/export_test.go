package daemon

import "time"

// Slack makes what each request has beside reading and the upstream's timeout as short as d.
func (o *Options) Slack(d time.Duration) { o.slack = d }

// Park makes how long a connection waits before it is parked as short as d.
func (o *Options) Park(d time.Duration) { o.park = d }

// ListenError is the error of a listener that does not start.
var ListenError = listenError

// MostAreParked says whether memory is given back where so many connections are parked, of those that are open.
var MostAreParked = mostAreParked

// Renewals sets how often certificates are checked for renewal.
func (o *Options) Renewals(d time.Duration) { o.renewals = d }
