package daemon

import "time"

// Slack sets the time that each request has in addition to reading and the timeout of the upstream.
func (o *Options) Slack(d time.Duration) { o.slack = d }

// Park sets how long a connection waits before it is parked.
func (o *Options) Park(d time.Duration) { o.park = d }

// ListenError returns the error of a listener that cannot be opened.
var ListenError = listenError

// MostAreParked reports whether memory is returned if this many of the open connections are parked.
var MostAreParked = mostAreParked

// Renewals sets how often certificates are checked for renewal.
func (o *Options) Renewals(d time.Duration) { o.renewals = d }

// NoticesEvery sets how often the process looks for events to notify the operator of.
func (o *Options) NoticesEvery(d time.Duration) { o.noticesEvery = d }

// ExportEvery sets how often the process looks for audit records to export.
func (o *Options) ExportEvery(d time.Duration) { o.exportEvery = d }
