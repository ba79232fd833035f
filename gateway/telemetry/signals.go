package telemetry

import (
	"strconv"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/zap"
)

// signals holds which signals are exported, and how traces are sampled.
type signals struct {
	traces, metrics, logs bool
	sampler               sdktrace.Sampler
}

// signalsOf returns the signals that the configuration selects if it names a collector, and otherwise those that the OTEL_* variables of
// the OpenTelemetry specification select.
func signalsOf(o Options) signals {
	if c := o.OTLP; c.Endpoint != nil {
		ratio := sdktrace.TraceIDRatioBased(1 / float64(c.SampleOneIn))
		return signals{c.Traces, c.Metrics, c.Logs, sdktrace.ParentBased(ratio)}
	}
	if o.Environment == nil || strings.EqualFold(o.Environment("OTEL_SDK_DISABLED"), "true") {
		return signals{}
	}
	exports := func(signal string) bool {
		switch exporter := o.Environment("OTEL_" + signal + "_EXPORTER"); exporter {
		case "otlp":
			return true
		case "none":
			return false
		case "":
			return o.Environment("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || o.Environment("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
		default:
			o.Log.Warn("the exporter is not known: want otlp or none", zap.String("variable", "OTEL_"+signal+"_EXPORTER"))
			return false
		}
	}
	s := signals{traces: exports("TRACES"), metrics: exports("METRICS"), logs: exports("LOGS")}
	var known bool
	if s.sampler, known = samplerOf(o.Environment("OTEL_TRACES_SAMPLER"), o.Environment("OTEL_TRACES_SAMPLER_ARG")); !known && s.traces {
		o.Log.Warn("OTEL_TRACES_SAMPLER or OTEL_TRACES_SAMPLER_ARG is not known: the sampler is parentbased_always_on")
	}
	return s
}

// samplerOf returns the sampler with a name and an argument of the OpenTelemetry specification, and whether both are valid. If they are
// not, or name is empty, it returns the sampler parentbased_always_on.
func samplerOf(name, argument string) (sdktrace.Sampler, bool) {
	root, parentBased := strings.CutPrefix(name, "parentbased_")
	var sampler sdktrace.Sampler
	switch root {
	case "always_on":
		sampler = sdktrace.AlwaysSample()
	case "always_off":
		sampler = sdktrace.NeverSample()
	case "traceidratio":
		ratio := 1.0
		if argument != "" {
			var err error
			if ratio, err = strconv.ParseFloat(argument, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
				return sdktrace.ParentBased(sdktrace.AlwaysSample()), false
			}
		}
		sampler = sdktrace.TraceIDRatioBased(ratio)
	default:
		return sdktrace.ParentBased(sdktrace.AlwaysSample()), name == ""
	}
	if parentBased {
		return sdktrace.ParentBased(sampler), true
	}
	return sampler, true
}
