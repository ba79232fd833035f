package export

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"

	collector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/fetch"
)

// OTLP sends records as log records of OpenTelemetry: the body of each is the JSON text (OTLP/HTTP, binary protobuf).
type OTLP struct {
	url    string
	header http.Header
	client *fetch.Client
}

// NewOTLP returns a Sender that posts to the URL of the logs, which ends with /v1/logs. The address may be private. secure is the TLS
// configuration; nil means Go's default.
func NewOTLP(url string, headers map[string]string, secure *tls.Config) *OTLP {
	header := http.Header{"Content-Type": {"application/x-protobuf"}}
	for name, value := range headers {
		header.Set(name, value)
	}
	return &OTLP{url, header, newClient(true, secure)}
}

// Send implements Sender. The error is a *RejectedError if the collector rejects some of the records permanently (OTLP, partial success).
func (o *OTLP) Send(ctx context.Context, records []Record) error {
	value := func(s string) *common.AnyValue {
		return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: s}}
	}
	list := make([]*logs.LogRecord, 0, len(records))
	for _, r := range records {
		at := uint64(max(0, r.At.UnixNano()))
		list = append(list, &logs.LogRecord{
			TimeUnixNano: at, ObservedTimeUnixNano: at, SeverityNumber: logs.SeverityNumber_SEVERITY_NUMBER_INFO, SeverityText: "INFO",
			EventName: eventType, Body: value(string(r.JSON)),
			Attributes: []*common.KeyValue{
				{Key: "uimgate.audit.id", Value: value(r.ID)},
				{Key: "uimgate.service", Value: value(r.Service)},
			},
		})
	}
	body, err := proto.Marshal(&collector.ExportLogsServiceRequest{ResourceLogs: []*logs.ResourceLogs{{
		Resource:  &resource.Resource{Attributes: []*common.KeyValue{{Key: "service.name", Value: value("uimgate")}}},
		ScopeLogs: []*logs.ScopeLogs{{Scope: &common.InstrumentationScope{Name: "github.com/uimgate/uimgate/audit"}, LogRecords: list}},
	}}})
	if err != nil {
		return fmt.Errorf("encoding audit records: %w", err)
	}
	text, err := wire.Post(ctx, o.client, o.url, o.header, body, maxAnswer)
	if err != nil {
		return err
	}
	var answer collector.ExportLogsServiceResponse
	_ = proto.Unmarshal(text, &answer) // if the response is damaged, the status still means that the collector has accepted the records
	if n := answer.GetPartialSuccess().GetRejectedLogRecords(); n > 0 {
		return &RejectedError{Records: int(min(n, int64(len(records))))}
	}
	return nil
}

// Close implements Sender.
func (o *OTLP) Close() { o.client.Close() }
