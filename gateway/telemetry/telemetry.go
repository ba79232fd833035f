// Package telemetry exports traces, metrics and logs by OTLP over HTTP, to the collector that the configuration or the OTEL_* variables
// name. Calls of agents do not wait for an export: data that a slow or absent collector does not accept is dropped and counted.
package telemetry

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/bridges/otelzap"
	prometheusbridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/time/rate"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/wire"
)

// scope is the name of the instrumentation.
const scope = "github.com/uimgate/uimgate"

// Options configure an Exporter.
type Options struct {
	OTLP        config.OTLP
	Environment func(name string) string // such as os.Getenv
	Version     string                   // the version of the program
	Registry    *prometheus.Registry     // the metrics to export
	Lost        func(signal string, n int)
	Log         *zap.Logger
}

// An Exporter exports traces, metrics and logs until it is closed.
type Exporter struct {
	// Traces is nil if no traces are exported.
	Traces *Traces
	logs   *sdklog.LoggerProvider
	report *complaints
	close  []func(context.Context) error
}

// Open starts to export the signals that the options and the environment select, which may be none. It does not wait for a connection, so
// an absent collector is not an error. It returns an error if the exporters do not accept the options.
func Open(ctx context.Context, o Options) (*Exporter, error) {
	e := &Exporter{}
	s := signalsOf(o)
	if !s.traces && !s.metrics && !s.logs {
		return e, nil
	}
	e.report = newComplaints(o.Log, secretsOf(o))
	otel.SetErrorHandler(e.report)
	about, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName("uimgate"), semconv.ServiceVersion(o.Version)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if s.traces {
		err = e.openTraces(ctx, o, s, about)
	}
	if err == nil && s.metrics {
		err = e.openMetrics(ctx, o, about)
	}
	if err == nil && s.logs {
		err = e.openLogs(ctx, o, about)
	}
	if err != nil {
		return nil, fmt.Errorf("the OTLP exporter: %w", err)
	}
	return e, nil
}

// defaultTimeout is the maximum duration of one request to the collector, including its response, if no OTEL_* variable sets it.
const defaultTimeout = 10 * time.Second

// timeoutOf returns the maximum duration of one request with a signal.
func timeoutOf(o Options, signal string) time.Duration {
	if o.Environment != nil {
		for _, name := range []string{"OTEL_EXPORTER_OTLP_" + strings.ToUpper(signal) + "_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"} {
			if ms, err := strconv.ParseUint(o.Environment(name), 10, 31); err == nil && ms > 0 {
				return time.Duration(ms) * time.Millisecond
			}
		}
	}
	return defaultTimeout
}

// optionsOf returns the options for the exporter of a signal: traces, metrics or logs. If no collector is configured, it returns no
// options, and the exporter reads the OTEL_* variables.
func optionsOf[O any](
	o Options, signal string, endpoint func(string) O, headers func(map[string]string) O, client func(*http.Client) O,
) (options []O) {
	if o.OTLP.Endpoint == nil {
		return nil
	}
	return append(options, endpoint(o.OTLP.URL(signal)), headers(o.OTLP.Sent()), client(newClient(&o.OTLP, timeoutOf(o, signal))))
}

// newClient returns a client that does not follow redirects. After a redirect, the last response can be successful although the collector
// did not get the data, for example if it is the response of a login page. Another server would also get the headers.
func newClient(c *config.OTLP, timeout time.Duration) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // net/http documents this
	if pool := c.RootPool(); pool != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{
		Transport: transport, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (e *Exporter) openTraces(ctx context.Context, o Options, s signals, about *resource.Resource) error {
	exporter, err := otlptracehttp.New(ctx, optionsOf(o, "traces",
		otlptracehttp.WithEndpointURL, otlptracehttp.WithHeaders, otlptracehttp.WithHTTPClient)...)
	if err != nil {
		return err
	}
	lost := func(spans int) { o.Lost("traces", spans) }
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithResource(about), sdktrace.WithIDGenerator(ids{}), sdktrace.WithSampler(sdktrace.AlwaysSample()), // Traces samples
		sdktrace.WithBatcher(countedSpans{exporter, lost}, sdktrace.WithBlocking()),
	)
	e.Traces = &Traces{
		tracer: provider.Tracer(scope), sampler: s.sampler, queue: make(chan func(*Traces), waiting), lost: lost,
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		e.Traces.run(stop)
	}()
	e.close = append(e.close, func(ctx context.Context) error {
		close(stop)
		select {
		case <-stopped:
		case <-ctx.Done(): // the collector does not accept the waiting spans in time
		}
		return provider.Shutdown(ctx)
	})
	return nil
}

func (e *Exporter) openMetrics(ctx context.Context, o Options, about *resource.Resource) error {
	exporter, err := otlpmetrichttp.New(ctx, optionsOf(o, "metrics",
		otlpmetrichttp.WithEndpointURL, otlpmetrichttp.WithHeaders, otlpmetrichttp.WithHTTPClient)...)
	if err != nil {
		return err
	}
	gathered := prometheusbridge.NewMetricProducer(prometheusbridge.WithGatherer(o.Registry))
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithResource(about),
		sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithProducer(gathered))))
	e.close = append(e.close, provider.Shutdown)
	return nil
}

func (e *Exporter) openLogs(ctx context.Context, o Options, about *resource.Resource) error {
	exporter, err := otlploghttp.New(ctx, optionsOf(o, "logs",
		otlploghttp.WithEndpointURL, otlploghttp.WithHeaders, otlploghttp.WithHTTPClient)...)
	if err != nil {
		return err
	}
	counted := countedRecords{exporter, func(records int) { o.Lost("logs", records) }}
	e.logs = sdklog.NewLoggerProvider(sdklog.WithResource(about), sdklog.WithProcessor(sdklog.NewBatchProcessor(counted)))
	e.close = append(e.close, e.logs.Shutdown)
	return nil
}

// Log returns a logger that writes to log and exports the same entries. If logs are not exported, it returns log itself.
func (e *Exporter) Log(log *zap.Logger) *zap.Logger {
	if e.logs == nil {
		return log
	}
	return log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		exported, err := zapcore.NewIncreaseLevelCore(otelzap.NewCore(scope, otelzap.WithLoggerProvider(e.logs)), core)
		if err != nil { // the export must not include a level that core does not log
			return core
		}
		return zapcore.NewTee(core, exported)
	}))
}

// closeTime is the maximum duration of Close.
const closeTime = 3 * time.Second

// Close exports the waiting data for at most three seconds, and then stops the export. It logs errors of the export, and always returns
// nil.
func (e *Exporter) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	var ended sync.WaitGroup
	for _, end := range e.close {
		ended.Go(func() {
			if err := end(ctx); err != nil {
				e.report.Handle(err)
			}
		})
	}
	ended.Wait()
	return nil
}

// complaints logs the errors of exporters, at most one a minute. It implements otel.ErrorHandler.
type complaints struct {
	log     *zap.Logger
	limit   *rate.Limiter
	left    atomic.Int64 // the number of errors since the last logged one
	secrets []string     // values of the headers that are sent to the collector
}

func newComplaints(log *zap.Logger, secrets []string) *complaints {
	return &complaints{log: log, limit: rate.NewLimiter(rate.Every(time.Minute), 1), secrets: secrets}
}

// secretsOf returns the values of the headers that are sent to the collector.
func secretsOf(o Options) []string {
	values := slices.Collect(maps.Values(o.OTLP.Sent()))
	if o.OTLP.Endpoint != nil || o.Environment == nil {
		return values
	}
	for _, signal := range []string{"", "TRACES_", "METRICS_", "LOGS_"} {
		for pair := range strings.SplitSeq(o.Environment("OTEL_EXPORTER_OTLP_"+signal+"HEADERS"), ",") {
			_, value, _ := strings.Cut(pair, "=")
			value = strings.TrimSpace(value)
			values = append(values, value)
			if decoded, err := url.PathUnescape(value); err == nil {
				values = append(values, decoded)
			}
		}
	}
	return values
}

// maxComplaint is the maximum length of a logged error, in bytes. An error contains the response of the collector.
const maxComplaint = 500

// Handle implements otel.ErrorHandler.
func (c *complaints) Handle(err error) {
	if !c.limit.Allow() {
		c.left.Add(1)
		return
	}
	text := wire.Loggable(err).Error()
	for _, secret := range c.secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	if len(text) > maxComplaint {
		text = strings.ToValidUTF8(text[:maxComplaint], "") + "..."
	}
	c.log.Warn("telemetry is not exported", zap.String("error", text), zap.Int64("not_logged", c.left.Swap(0)))
}

// countedSpans is a SpanExporter that counts the spans that the collector did not accept.
type countedSpans struct {
	sdktrace.SpanExporter
	lost func(int)
}

// ExportSpans implements sdktrace.SpanExporter.
func (c countedSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := c.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		c.lost(len(spans))
	}
	return err
}

// countedRecords is an Exporter that counts the log entries that the collector did not accept.
type countedRecords struct {
	sdklog.Exporter
	lost func(int)
}

// Export implements sdklog.Exporter.
func (c countedRecords) Export(ctx context.Context, records []sdklog.Record) error {
	err := c.Exporter.Export(ctx, records)
	if err != nil {
		c.lost(len(records))
	}
	return err
}
