package record

import (
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/execute"
)

// Fields are what the log of requests holds of a call.
func Fields(v *execute.Event) []zap.Field {
	f := []zap.Field{
		zap.String("agent", v.AgentID), zap.String("jti", v.TokenID), zap.String("intent_uid", v.Intent),
		zap.String("decision", v.Decision),
	}
	if v.Outcome != "" {
		f = append(f, zap.String("outcome", string(v.Outcome)))
	}
	if v.Charge != nil {
		f = append(f, zap.String("execution", v.Charge.ExecutionID), zap.String("charge", v.Charge.String()), zap.String("state", v.Charge.State))
	}
	if v.Unsettled != nil {
		f = append(f, zap.String("unsettled", "the end of the call could not be stored; it stays held until it is resolved"))
	}
	return f
}

// AgreementFields are what the log of requests holds of a call at the desk. Of a refused one it holds nothing that the
// agent sent.
func AgreementFields(e *agree.Event) []zap.Field {
	f := []zap.Field{zap.String("operation", string(e.Operation))}
	for _, field := range []zap.Field{
		zap.String("agent", string(e.AgentID)), zap.String("jti", string(e.TokenID)), zap.String("agreement", string(e.AgreementID)),
	} {
		if field.String != "" {
			f = append(f, field)
		}
	}
	if e.Pending {
		f = append(f, zap.Bool("pending", true))
	}
	return f
}
