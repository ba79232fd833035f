package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// Logs reads the logs of services: see package store/sqlstore/logs.
type Logs interface {
	Head(ctx context.Context, service string) (store.LogHead, error)
	HeadOf(ctx context.Context, service string, epoch int64) (store.LogHead, error)
	Tile(ctx context.Context, service string, epoch int64, level int, n int64) ([]byte, error)
	Find(ctx context.Context, service, execution string, state store.State) (store.LoggedLine, error)
	FindEntry(ctx context.Context, service string, agent pat.AgentID, currency string, k int64) (store.LoggedLine, error)
	// LogEntries returns the entries of a service that belong to no account, such as those that introduce keys.
	LogEntries(ctx context.Context, service string) ([]store.LogEntry, error)
}

const (
	// mergeDelay is the time, in seconds, within which an entry is in the log. agents.json announces it.
	mergeDelay     = "10"
	maxExecutionID = 100 // bytes
	mediaText      = "text/plain; charset=utf-8"
)

// logMembers returns the members of agents.json about the log of a service.
func (s *Server) logMembers(d *service.Definition) []intents.Extra {
	key := s.LogKey(d)
	if key == "" {
		return nil
	}
	members := []intents.Extra{{Name: "uim-log-key", Value: key}, {Name: "uim-mmd", JSON: []byte(mergeDelay)}}
	if s.Publish() != config.PublishOff {
		members = append(members, intents.Extra{Name: "uim-log", Value: d.At("/api/log/")})
	}
	return members
}

// A logRequest is a request to read the log of a service.
type logRequest struct {
	ctx     context.Context //nolint:containedctx // of the request
	service string
	agent   pat.AgentID // empty: the log is public, and the request has no PAT
	query   url.Values
	head    store.LogHead
	logs    Logs
}

// openLog returns the log that a request reads, if its sender may read it. The query parameter epoch names an earlier log of the service.
func (s *Server) openLog(c echo.Context) (*logRequest, error) {
	x, r := exchangeOf(c), c.Request()
	publish := s.Publish()
	if publish == config.PublishOff {
		return nil, reason.NoSuchPath.Refusal("")
	}
	token, err := wire.Bearer(r.Header)
	if err != nil {
		return nil, err
	}
	q := &logRequest{ctx: r.Context(), service: x.service.ID, query: c.QueryParams(), logs: s.Logs}
	if token != "" || publish != config.PublishPublic {
		if _, q.agent, err = s.owner(c); err != nil {
			return nil, err
		}
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	epoch, given, err := q.number("epoch")
	switch {
	case err != nil:
		return nil, err
	case given:
		q.head, err = s.Logs.HeadOf(q.ctx, q.service, epoch)
	default:
		q.head, err = s.Logs.Head(q.ctx, q.service)
	}
	switch {
	case errors.Is(err, store.ErrNotFound) && given:
		return nil, reason.InvalidParameter.Refusal("The service has no log with this epoch.")
	case errors.Is(err, store.ErrNotFound):
		return nil, notLoggedYet()
	case err != nil:
		return nil, refusal.For(err)
	}
	return q, nil
}

func notLoggedYet() *reason.Refusal { return reason.NotLoggedYet.Refusal("").After(time.Second) }

// number returns a query parameter that is a non-negative number.
func (q *logRequest) number(name string) (n int64, given bool, err error) {
	text := q.query.Get(name)
	if text == "" {
		return 0, false, nil
	}
	if n, err = strconv.ParseInt(text, 10, 64); err != nil || n < 0 || len(q.query[name]) > 1 {
		return 0, false, reason.InvalidParameter.Refusal("The query parameter " + name + " must be a number of 0 or more.")
	}
	return n, true, nil
}

// size returns a query parameter that is a size of the log. The default is its present size.
func (q *logRequest) size(name string) (int64, error) {
	n, given, err := q.number(name)
	switch {
	case err != nil || !given:
		return q.head.Size, err
	case n > q.head.Size:
		return 0, reason.InvalidParameter.Refusal("The query parameter " + name + " is larger than the log.")
	}
	return n, nil
}

func (q *logRequest) tile(level int, n int64) ([]byte, error) {
	return q.logs.Tile(q.ctx, q.service, q.head.Epoch, level, n)
}

// checkpoint handles GET /api/log/checkpoint. It responds with the newest checkpoint, with its cosignatures. See C2SP tlog-checkpoint.
func (s *Server) checkpoint(c echo.Context) error {
	q, err := s.openLog(c)
	if err != nil {
		return err
	}
	return c.Blob(http.StatusOK, mediaText, q.head.Checkpoint)
}

// find returns the place of the entry that the query parameters name. id and line name an entry about a call; currency and k name the entry
// with the number k in an account of the agent.
func (q *logRequest) find(c echo.Context) (store.LoggedLine, error) {
	line, err := lineOf(c)
	if err != nil {
		return store.LoggedLine{}, err
	}
	k, numbered, err := q.number("k")
	id := q.query.Get("id")
	switch {
	case err != nil:
		return store.LoggedLine{}, err
	case !numbered:
		if len(id) > maxExecutionID || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			return store.LoggedLine{}, store.ErrNotFound
		}
		return q.logs.Find(q.ctx, q.service, id, line)
	case id != "" || line != "":
		return store.LoggedLine{}, reason.InvalidParameter.Refusal("The query parameter k cannot be combined with id and line.")
	case q.query.Get("currency") == "":
		return store.LoggedLine{}, reason.InvalidParameter.Refusal("The query parameter k needs the query parameter currency.")
	case q.agent == "":
		return store.LoggedLine{}, reason.MissingToken.Refusal("The query parameter k names an entry of your account, so the request needs a PAT.")
	}
	return q.logs.FindEntry(q.ctx, q.service, q.agent, q.query.Get("currency"), k)
}

// logProof handles GET /api/log/proof. It responds with the proof that an entry is in the log: see find. With the query parameter size, the
// proof is for the log of that size, and ends before the checkpoint, which the client has. See C2SP tlog-proof.
func (s *Server) logProof(c echo.Context) error {
	q, err := s.openLog(c)
	if err != nil {
		return err
	}
	size, err := q.size("size")
	if err != nil {
		return err
	}
	found, err := q.find(c)
	_, refused := errors.AsType[*reason.Refusal](err)
	switch {
	case refused:
		return err
	case errors.Is(err, store.ErrNotFound) && q.query.Get("k") != "":
		return s.noEntry(q)
	case errors.Is(err, store.ErrNotFound), q.agent != "" && found.AgentID != q.agent && (err == nil || errors.Is(err, store.ErrNotLogged)):
		return reason.ReceiptNotFound.Refusal("")
	case errors.Is(err, store.ErrNotLogged):
		return notLoggedYet()
	case err != nil:
		return refusal.For(err)
	}
	if found.Epoch != q.head.Epoch { // the entry is in the log of another epoch
		if q.head, err = s.Logs.HeadOf(q.ctx, q.service, found.Epoch); err != nil {
			return refusal.For(err)
		}
		if size, err = q.size("size"); err != nil {
			return err
		}
	}
	switch {
	case found.Index >= q.head.Size: // it was appended after the head was read
		return notLoggedYet()
	case found.Index >= size:
		return reason.InvalidParameter.Refusal("The log of this size does not contain the entry yet.")
	}
	proof := log.Proof{Index: found.Index}
	if proof.Hashes, err = log.Reader(q.tile).Inclusion(size, found.Index); err != nil {
		return refusal.For(err)
	}
	if q.query.Get("size") == "" {
		proof.Checkpoint = q.head.Checkpoint
	}
	return c.Blob(http.StatusOK, mediaText, proof.Text())
}

// noEntry returns the refusal for an entry of the agent's account that does not exist, or was deleted.
func (s *Server) noEntry(q *logRequest) error {
	k, _, err := q.number("k")
	if err != nil {
		return err
	}
	_, err = s.Ledger.Entries(q.ctx, store.EntryFilter{
		Service: q.service, AgentID: q.agent, Currency: q.query.Get("currency"), After: max(k-1, 0), Limit: 1,
	})
	if err != nil {
		return s.ledgerRefusal(err)
	}
	return reason.ReceiptNotFound.Refusal("")
}

// logConsistency handles GET /api/log/consistency. It responds with the proof that the log of the size new, by default its present size,
// begins with the log of the size old.
func (s *Server) logConsistency(c echo.Context) error {
	q, err := s.openLog(c)
	if err != nil {
		return err
	}
	before, given, err := q.number("old")
	if err == nil && !given {
		err = reason.InvalidParameter.Refusal("The query parameter old is missing.")
	}
	if err != nil {
		return err
	}
	size, err := q.size("new")
	if err != nil {
		return err
	}
	hashes, err := log.Reader(q.tile).Consistency(before, size)
	switch {
	case errors.Is(err, log.ErrRange):
		return reason.InvalidParameter.Refusal("The query parameter old is larger than new.")
	case err != nil:
		return refusal.For(err)
	}
	return c.Blob(http.StatusOK, mediaText, log.HashLines(hashes))
}

// logTile handles GET /api/log/tile/<L>/<N>[.p/<W>]. See C2SP tlog-tiles.
func (s *Server) logTile(c echo.Context) error {
	q, err := s.openLog(c)
	if err != nil {
		return err
	}
	level, n, width, err := log.ParseTilePath(c.Param("*"))
	if err != nil || log.TileWidth(q.head.Size, level, n) < width {
		return reason.NoSuchPath.Refusal("The log has no such tile.")
	}
	hashes, err := q.tile(level, n)
	if err != nil {
		return refusal.For(err)
	}
	return c.Blob(http.StatusOK, "application/octet-stream", hashes[:min(len(hashes), width*len(evidence.Hash{}))])
}
