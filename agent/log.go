package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/uimgate/uimgate/agent/receipts"
	"github.com/uimgate/uimgate/evidence"
)

// maxLogAnswer is the maximum size of a response of a log, in bytes. A response is a checkpoint with its cosignatures, or a proof.
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
		o.Log = s.readLog
	}
	_, _ = s.refreshKeys(ctx) // if this fails, the trusted keys stay the same
	const most = 3            // a service may introduce a key at any time
	for try := 1; ; try++ {
		report, err := book.Reconcile(ctx, o)
		if err != nil || try == most || !slices.ContainsFunc(report.Problems, ofKey) {
			return report, err
		}
		found, err := s.awaitKeys(ctx)
		if err != nil {
			return receipts.Report{}, fmt.Errorf("looking for a new key of the service: %w", err)
		}
		if !found {
			return report, nil
		}
	}
}

// awaitKeys looks for a new key until it finds one, but no longer than services take to introduce a key. It reports
// whether it found one. The error is that of the last try.
func (s *Service) awaitKeys(ctx context.Context) (found bool, err error) {
	for try := range trustTries {
		if try > 0 {
			if err := s.client.o.Sleep(ctx, trustWait); err != nil {
				return false, err
			}
		}
		if found, err = s.refreshKeys(ctx); found {
			return true, nil
		}
	}
	return false, err
}

// ofKey reports whether a problem may result from a key that the service has introduced in the meantime.
func ofKey(p evidence.Problem) bool {
	return p.Name == evidence.ProblemKey || p.Name == evidence.ProblemLog
}

// refreshKeys trusts the keys that trusted keys have introduced, and reports whether there is a new one. If the key set is not available,
// it returns an error, and the trusted keys stay the same.
func (s *Service) refreshKeys(ctx context.Context) (bool, error) {
	if s.trusted(ctx).Len() == 0 {
		return false, nil
	}
	s.trusting.Lock()
	defer s.trusting.Unlock()
	return s.trustNew(ctx)
}

// readLog is a receipts.LogSource.
func (s *Service) readLog(ctx context.Context, path string, query url.Values) ([]byte, error) {
	session, err := s.currentSession(ctx)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(session.Endpoints.Log)
	if err != nil {
		return nil, fmt.Errorf("%w: uim-log is not a URL", ErrNoDoor)
	}
	u = u.JoinPath(path)
	u.RawQuery = query.Encode()
	answer, err := s.read(ctx, session, u.String(), "text/plain", maxLogAnswer)
	if e, refused := errors.AsType[*Error](err); refused {
		switch e.Status {
		case http.StatusNotFound, http.StatusBadRequest:
			return nil, fmt.Errorf("%w: %w", receipts.ErrRefused, err)
		case http.StatusGone:
			return nil, fmt.Errorf("%w: %w", receipts.ErrExpired, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the log: %w", err)
	}
	return answer.Body, nil
}
