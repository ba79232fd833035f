package gateway

import (
	"errors"
	"net/http"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// adminReasons are what only operators are told, and what they are told instead of agents.
var adminReasons = map[Reason]verdict{
	"HOST_NOT_ALLOWED": {"FORBIDDEN", http.StatusForbidden, "", "Call it by address or as localhost, through an SSH tunnel from elsewhere; a program may also send Host: localhost."},
	"MISSING_TOKEN":    {"UNAUTHORIZED", http.StatusUnauthorized, "", "Send Authorization: Bearer <token>; it is in admin.token in the data directory unless admin.token is configured."},
	"INVALID_TOKEN":    {"UNAUTHORIZED", http.StatusUnauthorized, "", "The token is in admin.token in the data directory unless admin.token is configured."},

	"NO_SUCH_RECORD":    {"NOT_FOUND", http.StatusNotFound, "", "Look for it in the listing; ids are exact, and records belong to one service."},
	"UNKNOWN_SERVICE":   {"NOT_FOUND", http.StatusNotFound, "", "Name one of details.services as ?service=."},
	"SERVICE_MISSING":   {"INVALID_PARAMETER", http.StatusBadRequest, "", "Name one of details.services as ?service=."},
	"NO_SUCH_PATH":      {"NOT_FOUND", http.StatusNotFound, "", "The admin API is under /admin/v1/; /admin/v1/status is a start."},
	"MALFORMED_REQUEST": {"INVALID_PARAMETER", http.StatusBadRequest, "", "Correct what the message names and send it again."},
	"ALREADY_SETTLED":   {"CONFLICT", http.StatusConflict, "", "Only executions in state unresolved can be resolved, once."},
	"REFERENCE_USED":    {"CONFLICT", http.StatusConflict, "", "Look for the reference in the ledger; give another top-up another one."},
	"PERIOD_FORGOTTEN":  {"INVALID_PARAMETER", http.StatusUnprocessableEntity, "", "Begin at details.kept or later; what was before is in the opening balance. billing.retain says how long entries are kept."},
	"EVIDENCE_INVALID":  {"INTERNAL_SERVER_ERROR", http.StatusInternalServerError, "", "The database was changed from outside, or is damaged: compare with a backup."},
	"CONFIG_REFUSED":    {"CONFIGURATION_REFUSED", http.StatusUnprocessableEntity, "", "Mend what details.problems lists; until then the gateway goes on with the configuration it has."},
	"NOT_OFFERED":       {"NOT_FOUND", http.StatusNotFound, "", "Restart the gateway instead."},
}

// newAdminFault makes a Fault with the words for operators.
func newAdminFault(reason Reason, message string) *Fault {
	v, ok := adminReasons[reason]
	if !ok {
		return newFault(reason, message)
	}
	f := &Fault{Reason: reason, Code: v.code, Status: v.status, Message: message}
	return f.with("suggestion", v.suggestion)
}

// adminFaultFor says what an operator is told of an error.
func adminFaultFor(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		if v, ok := adminReasons[f.Reason]; ok && f.Details["suggestion"] == nil {
			f.with("suggestion", v.suggestion)
		}
		return f
	}
	if forgotten, ok := errors.AsType[*store.ForgottenError](err); ok {
		kept := forgotten.Kept.UTC().Format(time.RFC3339Nano)
		return newAdminFault("PERIOD_FORGOTTEN", "The ledger is whole only from "+kept+" on.").with("kept", kept).because(err)
	}
	switch {
	case errors.Is(err, pat.ErrNotFound), errors.Is(err, store.ErrNotFound):
		return newAdminFault("NO_SUCH_RECORD", "There is no such record.").because(err)
	case errors.Is(err, store.ErrSettled):
		return newAdminFault("ALREADY_SETTLED", "The execution is not unresolved (any more).").because(err)
	case errors.Is(err, store.ErrReferenceUsed):
		return newAdminFault("REFERENCE_USED", "This reference belongs to another top-up.").because(err)
	case errors.Is(err, store.ErrPeriod):
		return newAdminFault("MALFORMED_REQUEST", "The period must end after it begins.").because(err)
	case errors.Is(err, money.ErrAmount):
		return newAdminFault("MALFORMED_REQUEST", "The amount cannot be taken: want one such as 10 USD, above zero, not finer than a billionth; and no more can be taken back than was topped up.").because(err)
	case errors.Is(err, pat.ErrBadExport):
		return newAdminFault("EVIDENCE_INVALID", "The evidence of this agreement does not verify.").because(err)
	case errors.Is(err, pat.ErrKeyTaken):
		return newAdminFault("KEY_TAKEN", "The key belongs to another agent of this service.").with("suggestion", "One key has one agent id: use another key.").because(err)
	}
	return faultFor(err)
}
