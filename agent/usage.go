package agent

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/uimgate/uimgate/agent/receipts"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	maxEntriesPage = 100
	maxUsagePage   = 4 << 20 // the maximum size of a page, in bytes
)

// Entries returns at most 100 entries of the agent's account in a currency: those that follow the number after. If after is -1, they begin
// with the first entry that the service still has. Entries does not verify the receipts. Errors: ErrNotAgreed, ErrNoDoor, ErrAnswer, *Error
// and the errors of package fetch.
func (s *Service) Entries(ctx context.Context, currency string, after int64) (receipts.Page, error) {
	session, err := s.currentSession(ctx)
	if err != nil {
		return receipts.Page{}, err
	}
	if session.Endpoints.Usage == "" {
		return receipts.Page{}, fmt.Errorf("%w: its agents.json has no uim-usage", ErrNoDoor)
	}
	u, err := url.Parse(session.Endpoints.Usage)
	if err != nil {
		return receipts.Page{}, fmt.Errorf("%w: uim-usage is not a URL", ErrNoDoor)
	}
	query := url.Values{"currency": {currency}}
	if after >= 0 {
		query.Set("after", strconv.FormatInt(after, 10))
	}
	u.RawQuery = query.Encode()
	answer, err := s.read(ctx, session, u.String(), "application/json", maxUsagePage)
	if err != nil {
		return receipts.Page{}, fmt.Errorf("reading the usage: %w", err)
	}
	tree, err := strictjson.DecodeObject(answer.Body)
	if err != nil {
		return receipts.Page{}, answerError(err)
	}
	return readPage(tree)
}

// readPage reads {"entries": [JWS…], "head": {"k", "hash"}}. head is null if the account has no entries.
func readPage(tree strictjson.Object) (receipts.Page, error) {
	list, isList := tree["entries"].([]any)
	if !isList || len(list) > maxEntriesPage {
		return receipts.Page{}, fmt.Errorf("%w: want a list of at most %d entries", ErrAnswer, maxEntriesPage)
	}
	var page receipts.Page
	for _, v := range list {
		text, ok := v.(string)
		if !ok {
			return receipts.Page{}, fmt.Errorf("%w: an entry is not a string", ErrAnswer)
		}
		page.Entries = append(page.Entries, text)
	}
	head := tree.Object("head")
	if head == nil {
		page.Empty = len(page.Entries) == 0
		if !page.Empty {
			return receipts.Page{}, fmt.Errorf("%w: the head is missing", ErrAnswer)
		}
		return page, nil
	}
	k, err := strconv.ParseInt(string(head.Number("k")), 10, 64)
	if err != nil || k < 0 || page.Head.Hash.UnmarshalText([]byte(head.Text("hash"))) != nil {
		return receipts.Page{}, fmt.Errorf("%w: the head is not valid", ErrAnswer)
	}
	page.Head.K = k
	return page, nil
}
