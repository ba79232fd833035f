package api

import (
	"maps"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/record"
)

// A Change is what an operation changes.
type Change struct {
	Operation string // its name, or another act
	About     Record
	Detail    map[string]string
}

// Line returns the change as a caller made it.
func (ch Change) Line(c Caller) record.ChangeLine {
	return record.ChangeLine{
		By: c.Name, Role: string(c.Role), Via: c.Via, Did: ch.Operation, Subject: ch.About.ID, RequestID: c.RequestID, Detail: ch.Detail,
	}
}

// Changes writes changes to the log and to the audit stream.
type Changes struct {
	Log   *zap.Logger
	Audit *record.Audit // nil: none
	Now   func() time.Time
}

// Record writes a change to the log and to the audit stream, or, if line.Failed is set, an operation that may have made its change.
func (s *Changes) Record(service string, line record.ChangeLine) {
	fields := []zap.Field{
		zap.String("did", line.Did), zap.String("service", service), zap.String("subject", line.Subject),
		zap.String("by", line.By), zap.String("via", line.Via), zap.String("request_id", line.RequestID),
	}
	if line.Address != "" {
		fields = append(fields, zap.String("address", line.Address))
	}
	if line.Detail != nil {
		fields = append(fields, zap.Any("detail", line.Detail))
	}
	if line.Failed == "" {
		s.Log.Info("operator", fields...)
	} else {
		s.Log.Warn("an operation failed, but it may have made its change", append(fields, zap.String("reason", line.Failed))...)
	}
	if s.Audit != nil {
		s.Audit.RecordChange(s.Now(), service, line)
	}
}

// A describer is a request or a result of an operation that describes the change for the audit stream. Empty values are left out.
type describer interface{ Details() map[string]string }

// DetailsOf returns the details of the requests and results that have some, or nil if there are none. The last value of a name counts.
func DetailsOf(list ...any) map[string]string {
	var out map[string]string
	for _, v := range list {
		d, ok := v.(describer)
		if !ok {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		maps.Copy(out, d.Details())
	}
	maps.DeleteFunc(out, func(_, value string) bool { return value == "" })
	if len(out) == 0 {
		return nil
	}
	return out
}

// Flag returns the value of a flag in details: an empty string for false, because details omit empty values.
func Flag(set bool) string {
	if !set {
		return ""
	}
	return strconv.FormatBool(set)
}

// ChangedID returns the id of the record that an operation has changed, if its result names one with a method ChangedID.
func ChangedID(answer any) (string, bool) {
	named, ok := answer.(interface{ ChangedID() string })
	if !ok {
		return "", false
	}
	return named.ChangedID(), true
}
