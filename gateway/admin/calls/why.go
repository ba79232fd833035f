package calls

import (
	"context"
	"errors"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/internal/delay"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A RequestRecord identifies requests, of any service.
type RequestRecord struct {
	ID string `path:"id"` // the request_id of a response
}

// A Why explains one request. Execution is the present state of its call; it is nil if the call has no record.
type Why struct {
	record.Explanation

	Execution *Execution `json:"execution_now,omitempty"`
}

// Why explains the requests with an id, the oldest first: the decision of the gateway and the present state of the call. A client can
// choose the id of a request, and one request may contain several calls, so there may be several; Why returns the newest 20. It finds
// requests of every process that uses the same store, for as long as audit.index retains them. Processes write their records every second,
// so if Why finds none, it looks again until whyWait has passed or ctx ends.
func (o *Operations) Why(ctx context.Context, r RequestRecord) (api.Page[Why], error) {
	o.Flush(ctx)
	list, err := o.RequestsByID(ctx, r.ID)
	if err != nil {
		return api.Page[Why]{}, err
	}
	page := api.Page[Why]{Items: make([]Why, 0, len(list))}
	for _, one := range list {
		var w Why
		if w.Explanation, err = ReadExplanation(&one); err != nil {
			return api.Page[Why]{}, err
		}
		if w.Execution, err = o.executionOf(ctx, &w.Explanation); err != nil {
			return api.Page[Why]{}, err
		}
		page.Items = append(page.Items, w)
	}
	if len(page.Items) == 0 {
		return page, reason.NoSuchRecord.Refusal("The index has no request with this id.").With(
			"suggestion",
			"Records of the last seconds may be missing: try again. Check the id, which is request_id in the error and UIM-Request-ID in the header of a response. The index keeps requests for "+
				"audit.index.retain, at most audit.index.limit of them. The log and the audit stream may still have the request.",
		)
	}
	return page, nil
}

const (
	whyWait  = 2 * time.Second        // longer than the interval at which a process writes its records: see record.Index.Run
	whyEvery = 100 * time.Millisecond // how often requestsByID looks
)

// RequestsByID returns the newest requests with an id. If the store has none, it waits up to whyWait until another process writes one.
func (o *Operations) RequestsByID(ctx context.Context, id string) ([]store.IndexedRequest, error) {
	for range whyWait / whyEvery {
		list, err := o.Store.RequestsByID(ctx, id)
		if err != nil || len(list) > 0 {
			return list, err
		}
		if err := delay.For(ctx, whyEvery); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// executionOf returns the present record of the call, or nil if there is none.
func (o *Operations) executionOf(ctx context.Context, x *record.Explanation) (*Execution, error) {
	if x.ExecutionID == "" {
		return nil, nil //nolint:nilnil // most calls have no record
	}
	e, err := o.Store.Execution(ctx, x.Service, x.ExecutionID)
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, pat.ErrNotFound):
		return nil, nil //nolint:nilnil // as above
	case err != nil:
		return nil, err
	}
	shown := showExecution(e)
	return &shown, nil
}
