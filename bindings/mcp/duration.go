package mcp

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// boundaries are the upper bounds of the buckets in seconds, as the conventions advise.
var boundaries = []float64{.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 120, 300}

// newDurations returns the histogram mcp.server.operation.duration of the OpenTelemetry semantic conventions for MCP, under the name that
// it has in Prometheus.
func newDurations(registry prometheus.Registerer) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "mcp_server_operation_duration_seconds", Help: "Time to answer MCP requests, by method and type of error.", Buckets: boundaries,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
	}, []string{"mcp_method_name", "error_type"})
	registry.MustRegister(h)
	return h
}

// otherMethod is the label of methods for tasks, and of unknown methods, which come from outside.
const otherMethod = "_OTHER"

// observe records the duration of an operation. It does nothing if the door was not provisioned with metrics.
func (d *Door) observe(a *answer, began time.Time) {
	if d.durations == nil {
		return
	}
	method := a.Method
	if m, known := methods[method]; !known || m.task {
		method = otherMethod
	}
	d.durations.WithLabelValues(method, a.fault).Observe(d.now().Sub(began).Seconds())
}
