package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/uimgate/uimgate/agent/receipts"
)

// maxLogAnswer limits the response of a log, in bytes: a checkpoint with its cosignatures, or a proof.
const maxLogAnswer = 128 << 10

// Reconcile compares the receipts of the calls of a period with the books of the service, and with its log if it has one: see
// receipts.Book.Reconcile. Errors: ErrOptions if the client keeps no receipts, and those of Entries and of package receipts.
func (s *Service) Reconcile(ctx context.Context, p receipts.Period) (receipts.Report, error) {
	book := s.Book()
	if book == nil {
		return receipts.Report{}, fmt.Errorf("%w: the client keeps no receipts", ErrOptions)
	}
	session := s.Session()
	o := receipts.Reconciliation{Source: s, Issuer: session.Issuer, Agent: session.AgentID, Period: p, Now: s.client.o.Now()}
	if session.Endpoints.Log != "" {
		o.Log = logReader{s}
	}
	return book.Reconcile(ctx, o)
}

// A logReader reads the log of a service.
type logReader struct{ s *Service }

// Checkpoint implements receipts.LogSource.
func (r logReader) Checkpoint(ctx context.Context) ([]byte, error) {
	return r.get(ctx, "checkpoint", nil)
}

// Consistency implements receipts.LogSource.
func (r logReader) Consistency(ctx context.Context, before, after int64) ([]byte, error) {
	return r.get(ctx, "consistency", url.Values{"old": {strconv.FormatInt(before, 10)}, "new": {strconv.FormatInt(after, 10)}})
}

// Inclusion implements receipts.LogSource.
func (r logReader) Inclusion(ctx context.Context, execution, state string, size int64) ([]byte, error) {
	return r.get(ctx, "proof", url.Values{"id": {execution}, "line": {state}, "size": {strconv.FormatInt(size, 10)}})
}

func (r logReader) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	session, err := r.s.currentSession(ctx)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(session.Endpoints.Log)
	if err != nil {
		return nil, fmt.Errorf("%w: uim-log is not a URL", ErrNoDoor)
	}
	u = u.JoinPath(path)
	u.RawQuery = query.Encode()
	answer, err := r.s.get(ctx, session, u.String(), "text/plain", maxLogAnswer)
	if e, refused := errors.AsType[*Error](err); refused && (e.Status == http.StatusNotFound || e.Status == http.StatusBadRequest) {
		return nil, fmt.Errorf("%w: %w", receipts.ErrRefused, err)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the log: %w", err)
	}
	return answer.Body, nil
}
