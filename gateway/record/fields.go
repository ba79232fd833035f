package record

import (
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/execute"
)

// Fields returns the fields of the request log for a call.
func Fields(v *execute.Event) []zap.Field {
	f := []zap.Field{
		zap.String("agent", v.AgentID), zap.String("jti", v.TokenID), zap.String("intent_uid", v.Intent),
		zap.String("decision", v.Decision),
	}
	if v.Door != "" {
		f = append(f, zap.String("door", v.Door))
	}
	if v.Rule != "" && v.Reason != "" {
		f = append(f, zap.String("rule", v.Rule))
	}
	if v.Outcome != "" {
		f = append(f, zap.String("outcome", string(v.Outcome)))
	}
	if v.Charge != nil {
		f = append(f, zap.String("execution", v.Charge.ExecutionID), zap.String("charge", v.Charge.String()), zap.String("state", v.Charge.State))
	}
	if len(v.Missing) > 0 {
		f = append(f, zap.Strings("missing_outputs", v.Missing))
	}
	if v.Unsettled != nil {
		f = append(f, zap.String("unsettled", "the end of the call could not be stored; if its outcome is known, storing it is retried until the deadline of the call"))
	}
	return f
}

// AgreementFields returns the fields of the request log for a request about an agreement or a PAT. For a refused request, the fields
// contain no value that the agent sent, except the ids of a blocked agent and of its PAT.
func AgreementFields(e *agree.Event) []zap.Field {
	f := []zap.Field{zap.String("operation", string(e.Operation))}
	add := func(name, value string) {
		if value != "" {
			f = append(f, zap.String(name, value))
		}
	}
	add("agent", string(e.AgentID))
	add("jti", string(e.TokenID))
	add("agreement", string(e.AgreementID))
	if e.Pending {
		f = append(f, zap.Bool("pending", true))
	}
	return f
}
