package refusal_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// outcomes maps the errors that refuse an agent, by their names in the sources, to their reasons.
var outcomes = map[string]struct {
	err  error
	want reason.Reason
}{
	"pat.ErrMissing":           {pat.ErrMissing, reason.MissingToken},
	"pat.ErrExpired":           {pat.ErrExpired, reason.ExpiredToken},
	"pat.ErrRevoked":           {pat.ErrRevoked, reason.RevokedToken},
	"pat.ErrBlocked":           {pat.ErrBlocked, reason.AgentBlocked},
	"pat.ErrNotYetValid":       {pat.ErrNotYetValid, reason.InvalidToken},
	"pat.ErrInvalid":           {pat.ErrInvalid, reason.InvalidToken},
	"pat.ErrUnavailable":       {pat.ErrUnavailable, reason.StoreUnavailable},
	"keys.ErrWeak":             {keys.ErrWeak, reason.WeakKey},
	"keys.ErrUnsupported":      {keys.ErrUnsupported, reason.UnsupportedKey},
	"pat.ErrBadSignature":      {pat.ErrBadSignature, reason.BadSignature},
	"pat.ErrBadAgentID":        {pat.ErrBadAgentID, reason.InvalidParameter},
	"pat.ErrAgreementReplayed": {pat.ErrAgreementReplayed, reason.AgreementReplayed},
	"pat.ErrAgreementStale":    {pat.ErrAgreementStale, reason.AgreementStale},
	"pat.ErrFreshRequired":     {pat.ErrFreshRequired, reason.FreshAgreementRequired},
	"pat.ErrNotAdmitted":       {pat.ErrNotAdmitted, reason.InsufficientPermissions},
	"pat.ErrKeyTaken":          {pat.ErrKeyTaken, reason.KeyTaken},
	"pat.KeyTakenError":        {&pat.KeyTakenError{AgentID: "a"}, reason.KeyTaken},
	"pat.ErrProofReplayed":     {pat.ErrProofReplayed, reason.ProofReplayed},
	"pat.ErrProofRequired":     {pat.ErrProofRequired, reason.PolicyRequiresVerification},

	"pat.PolicyMismatchError": {&pat.PolicyMismatchError{}, reason.PolicyMismatch},
	"pat.PolicyChangedError":  {&pat.PolicyChangedError{}, reason.PolicyRequiresAgreement},
	"pat.StoppedError":        {&pat.StoppedError{Kind: pat.StopCharging}, reason.Stopped},
	"pat.BlockedError":        {&pat.BlockedError{}, reason.AgentBlocked},
	"pat.MisdirectedError":    {&pat.MisdirectedError{}, reason.AgreementMisdirected},
	"keys.Error":              {keyErrorOf(), reason.UnsupportedKey},
	"pat.AgentIDTakenError":   {&pat.AgentIDTakenError{}, reason.AgentIDTaken},
	"pat.AgreementError":      {&pat.AgreementError{}, reason.InvalidParameter},
	"pat.ScopeFormError":      {&pat.ScopeFormError{}, reason.InvalidParameter},
	"pat.ProofError":          {&pat.ProofError{}, reason.PolicyRequiresVerification},
	"pat.ScopeError":          {&pat.ScopeError{}, reason.InsufficientPermissions},
	"pat.PlanError":           {&pat.PlanError{Unknown: true}, reason.UnknownPlan},

	"store.ErrQueueFull":      {fmt.Errorf("%w: %w", store.ErrUnavailable, store.ErrQueueFull), reason.Overloaded},
	"store.ErrUnavailable":    {store.ErrUnavailable, reason.StoreUnavailable},
	"store.ErrNonceUsed":      {store.ErrNonceUsed, reason.ProofReplayed},
	"store.ErrKeyReused":      {store.ErrKeyReused, reason.IdempotencyKeyReused},
	"store.ErrInProgress":     {store.ErrInProgress, reason.IdempotencyInProgress},
	"store.ErrOutcomeUnknown": {store.ErrOutcomeUnknown, reason.OutcomeUnknown},
	"store.EarlierError":      {&store.EarlierError{Err: store.ErrOutcomeUnknown, ExecutionID: "e-1"}, reason.OutcomeUnknown},
	"store.ErrCredit":         {store.ErrCredit, reason.PolicyRequiresPayment},
	"store.CreditError":       {&store.CreditError{}, reason.PolicyRequiresPayment},

	"upstream.ErrTimeout":       {upstream.ErrTimeout, reason.UpstreamTimeout},
	"upstream.ErrUnreachable":   {upstream.ErrUnreachable, reason.UpstreamUnreachable},
	"upstream.ErrBroken":        {upstream.ErrBroken, reason.UpstreamError},
	"upstream.ErrGrantEnded":    {upstream.ErrGrantEnded, reason.GrantExpired},
	"upstream.ErrFull":          {upstream.ErrFull, reason.Overloaded},
	"upstream.BreakerOpenError": {&upstream.BreakerOpenError{}, reason.BreakerOpen},
	"upstream.RejectedError":    {&upstream.RejectedError{}, reason.UpstreamRejected},
	"upstream.BusyError":        {&upstream.BusyError{}, reason.UpstreamBusy},
	"upstream.StatusError":      {&upstream.StatusError{}, reason.UpstreamError},
	"upstream.ResponseError":    {&upstream.ResponseError{}, reason.ResponseInvalid},
}

// elsewhere are the errors that never refuse an agent directly, and the code that handles each.
var elsewhere = map[string]string{
	"pat.ErrBusy":                 "gateway/agree sheds it: OVERLOADED",
	"pat.ErrBadAgreement":         "what an AgreementError is",
	"pat.ErrAgreementMisdirected": "what a MisdirectedError is",
	"pat.ErrPolicyMismatch":       "what a PolicyMismatchError is",
	"pat.ErrPolicyChanged":        "what a PolicyChangedError is",
	"pat.ErrNothingGranted":       "what a ScopeError is",
	"pat.ErrBadScope":             "what a ScopeFormError is",
	"pat.ErrBadProof":             "what a ProofError is",
	"store.ErrLogMoved":           "another process appended to the log: gateway/ledgerlog tries again",
	"store.ErrNotLogged":          "gateway/handle_log.go: NOT_LOGGED_YET",
	"store.ErrAltered":            "gateway/handle_receipts.go: STORE_UNAVAILABLE",
	"store.AlteredError":          "an ErrAltered with the account",
	"store.ExpiredError":          "gateway/handle_receipts.go: EVIDENCE_EXPIRED",
	"pat.ErrBadExport":            "the operator's: gateway/admin",
	"pat.ErrAgentIDTaken":         "the store's word; the issuer makes an AgentIDTakenError of it",
	"pat.ErrReplayed":             "the store's word; the issuer makes ErrAgreementReplayed or ErrProofReplayed of it",
	"keys.ErrNoKey":               "the operator's: gateway/admin",
	"pat.ErrNotFound":             "the store's word; the issuer and the verifier make ErrInvalid of it, gateway/admin NoSuchRecord",
	"pat.ErrEnded":                "the store's word; the issuer tries again a moment later",
	"store.ErrSettled":            "settle keeps what was settled; gateway/admin",
	"pat.ErrBadBudget":            "the page's: bindings/oauth",
	"store.ErrReferenceUsed":      "the operator's: gateway/admin",
	"store.MoveError":             "the operator's: gateway/admin",
	"store.ErrBudgetChanged":      "the call is decided again: gateway/execute",
	"store.UnspentError":          "the payment is refused: payments",
	"store.ErrNotCaptured":        "the operator's: gateway/admin",
	"store.RefundError":           "the operator's: gateway/admin",
	"store.ErrNotFound":           "the operator's: gateway/admin",
	"store.ErrForgotten":          "what a ForgottenError is",
	"store.ErrPeriod":             "the operator's: gateway/admin",
	"store.ServicesError":         "the operator's: internal/daemon",
	"store.ErrUnbalanced":         "the operator's: the upkeep logs it",
	"store.ErrPaymentMoved":       "payments: another process went on with the payment",
	"store.ErrPaymentIDUsed":      "payments: PAYMENT_USED",
	"store.ErrPaymentOpen":        "payments: PAYMENT_UNKNOWN",
	"store.ErrRefund":             "gateway/handle_webhook.go: PAYMENT_UNKNOWN",
	"store.ErrUsed":               "what a code or token of OAuth answers: gateway/consent",
	"store.ErrFull":               "what an OAuth registration answers: gateway/consent; of an agent: bindings/uagents/almanac",
	"store.ErrShare":              "what a registration of an agent answers: bindings/uagents/almanac",
	"store.ErrOlder":              "what a registration of an agent answers: bindings/uagents/almanac",
	"store.LimitError":            "begin describes it: gateway/execute/suspension.go",
	"store.ForgottenError":        "the operator's: gateway/admin",
	"upstream.ErrIdentity":        "the gateway's own mistake: INTERNAL",
	"upstream.ErrNoEndpoint":      "a problem of the configuration, found when it is loaded",
	"upstream.ErrForeignHost":     "a problem of the configuration, found when it is loaded",
	"upstream.ErrEndpoint":        "a problem of the configuration, found when it is loaded",
	"intents.ErrUID":              "the service's: INTENT_NOT_FOUND, gateway/service/intent.go",
	"intents.ErrQuery":            "the search's: gateway/handle_catalog.go",
	"intents.ErrResponse":         "what a ResponseError is",
	"intents.ResponseError":       "shape describes it: gateway/execute/call.go",
	"intents.ErrLicense":          "a problem of the catalogue, found when it is loaded",
	"odrl.ErrQuestion":            "the command line's",
	"odrl.ErrWorldState":          "the command line's",
}

func keyErrorOf() error {
	_, err := keys.Parse("")
	return err
}

func TestErrorsMapToReasons(t *testing.T) {
	for name, o := range outcomes {
		f := refusal.For(fmt.Errorf("doing something: %w", o.err))
		if f.Reason != o.want {
			t.Errorf("%s: got %s, want %s", name, f.Reason, o.want)
		}
		if !errors.Is(f, o.err) {
			t.Errorf("the Refusal does not wrap %s", name)
		}
		if f.Code == reason.CodeServiceUnavailable && f.RetryAfter == 0 && o.want != reason.BreakerOpen {
			t.Errorf("%s: the refusal has no RetryAfter", name)
		}
	}
}

func TestUnmappedErrorIsInternal(t *testing.T) {
	secret := errors.New("password=hunter2")
	f := refusal.For(secret)
	if f.Reason != reason.Internal || strings.Contains(f.Message, "hunter2") || len(f.Details) != 0 {
		t.Errorf("got %+v", f)
	}
	for _, err := range []error{context.Canceled, context.DeadlineExceeded} {
		if f := refusal.For(err); f.Reason != reason.StoreUnavailable || f.RetryAfter != time.Second {
			t.Errorf("%v: got %+v", err, f)
		}
	}
	if own := reason.AgentBlocked.Refusal("Enough."); refusal.For(fmt.Errorf("somewhere: %w", own)) != own {
		t.Error("For replaced a Refusal")
	}
}

// TestEveryExportedErrorIsListed reads the sources of the packages whose errors reach the pipeline.
func TestEveryExportedErrorIsListed(t *testing.T) {
	seen := map[string]bool{}
	for name, dir := range map[string]string{
		"pat": "../../pat", "keys": "../../pat/keys", "store": "../../store", "upstream": "../execute/upstream", "intents": "../../intents", "odrl": "../../odrl",
	} {
		for _, declared := range exportedErrors(t, dir) {
			full := name + "." + declared
			seen[full] = true
			_, has := outcomes[full]
			_, other := elsewhere[full]
			if has == other {
				t.Errorf("%s needs exactly one row, in outcomes or in elsewhere", full)
			}
		}
	}
	for name := range outcomes {
		if !seen[name] {
			t.Errorf("%s is no longer declared", name)
		}
	}
	for name := range elsewhere {
		if !seen[name] {
			t.Errorf("%s is no longer declared", name)
		}
	}
}

// exportedErrors returns the names of the variables Err… and types …Error that a package exports.
func exportedErrors(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources in %s: %v", dir, err)
	}
	var names []string
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			general, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				names = append(names, errorNames(spec)...)
			}
		}
	}
	return names
}

func errorNames(spec ast.Spec) []string {
	var names []string
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, n := range spec.Names {
			if n.IsExported() && strings.HasPrefix(n.Name, "Err") {
				names = append(names, n.Name)
			}
		}
	case *ast.TypeSpec:
		if spec.Name.IsExported() && strings.HasSuffix(spec.Name.Name, "Error") {
			names = append(names, spec.Name.Name)
		}
	}
	return names
}
