package relay

import (
	"net/http"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
)

// An entryMark is a position in an access list, in a cursor.
type entryMark struct {
	ID int64 `json:"i"`
}

func entryOf(e mail.Entry) wire.Entry {
	return wire.Entry{ID: e.ID, Owner: e.Owner, Peer: e.Peer, Type: wire.EntryType(e.Type), CreatedAt: e.CreatedAt.UTC()}
}

// setEntry permits or blocks messages from a peer to the caller. The path or the body names the peer.
func (r *Relay) setEntry(w http.ResponseWriter, c *call) *wire.Error {
	if refused := c.own(); refused != nil {
		return refused
	}
	var peer *wire.Key
	if c.PathValue("peer") != "" {
		k, refused := c.pathKey("peer")
		if refused != nil {
			return refused
		}
		peer = &k
	}
	k, kind, refused := wire.ReadEntry(c.body, peer)
	if refused != nil {
		return refused
	}
	e, err := r.store.SetEntry(c.Context(), c.key(), k, string(kind))
	if err != nil {
		refused := r.refusal(err, wire.NotFound)
		if refused.Code == wire.NoRoom {
			refused = wire.Refuse(wire.Unprocessable, "an access list can have at most 10000 entries")
		}
		return refused
	}
	r.json(w, http.StatusOK, entryOf(e))
	return nil
}

func (r *Relay) entry(w http.ResponseWriter, c *call) *wire.Error {
	if refused := c.own(); refused != nil {
		return refused
	}
	peer, refused := c.pathKey("peer")
	if refused != nil {
		return refused
	}
	e, err := r.store.Entry(c.Context(), c.key(), peer)
	if err != nil {
		return r.refusal(err, wire.NotFound)
	}
	r.json(w, http.StatusOK, entryOf(e))
	return nil
}

func (r *Relay) deleteEntry(w http.ResponseWriter, c *call) *wire.Error {
	if refused := c.own(); refused != nil {
		return refused
	}
	peer, refused := c.pathKey("peer")
	if refused != nil {
		return refused
	}
	if err := r.store.DeleteEntry(c.Context(), c.key(), peer); err != nil {
		return r.refusal(err, wire.NotFound)
	}
	r.nothing(w)
	return nil
}

// entries lists the caller's access list, oldest entry first.
func (r *Relay) entries(w http.ResponseWriter, c *call) *wire.Error {
	if refused := c.own(); refused != nil {
		return refused
	}
	q, refused := readQuery(c.URL.RawQuery)
	if refused != nil {
		return refused
	}
	limit, refused := readLimit(q, wire.MaxPage)
	if refused != nil {
		return refused
	}
	kind := q.Get("type")
	if kind == "" {
		kind = q.Get("entry_type")
	}
	if kind != "" && kind != string(wire.Allow) && kind != string(wire.Block) {
		return wire.Refuse(wire.BadRequest, "type must be one of allow, block")
	}
	var from entryMark
	if _, refused = readCursor(q, &from); refused != nil {
		return refused
	}
	list, more, err := r.store.Entries(c.Context(), c.key(), kind, from.ID, limit)
	if err != nil {
		return r.refusal(err, wire.NotFound)
	}
	page := wire.Entries{Entries: []wire.Entry{}, HasMore: more}
	for _, e := range list {
		page.Entries = append(page.Entries, entryOf(e))
		from.ID = e.ID
	}
	page.NextCursor = writeCursor(from, more)
	r.json(w, http.StatusOK, page)
	return nil
}
