package relay

import (
	"cmp"

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
func (r *Relay) setEntry(c *call) (any, *wire.Error) {
	var peer *wire.Key
	if c.PathValue("peer") != "" {
		k, refused := c.pathKey("peer")
		if refused != nil {
			return nil, refused
		}
		peer = &k
	}
	k, kind, refused := wire.ReadEntry(c.body, peer)
	if refused != nil {
		return nil, refused
	}
	e, err := r.store.SetEntry(c.Context(), c.key(), k, string(kind))
	if refused = r.refusal(err, wire.NotFound); refused != nil && refused.Code == wire.NoRoom {
		refused = wire.Refuse(wire.Unprocessable, "an access list can have at most 10000 entries")
	}
	return entryOf(e), refused
}

func (r *Relay) entry(c *call) (any, *wire.Error) {
	peer, refused := c.pathKey("peer")
	if refused != nil {
		return nil, refused
	}
	e, err := r.store.Entry(c.Context(), c.key(), peer)
	return entryOf(e), r.refusal(err, wire.NotFound)
}

func (r *Relay) deleteEntry(c *call) (any, *wire.Error) {
	peer, refused := c.pathKey("peer")
	if refused != nil {
		return nil, refused
	}
	return nil, r.refusal(r.store.DeleteEntry(c.Context(), c.key(), peer), wire.NotFound)
}

// entries lists the caller's access list, oldest entry first.
func (r *Relay) entries(c *call) (any, *wire.Error) {
	q, limit, refused := readPage(c.URL.RawQuery, wire.MaxPage)
	if refused != nil {
		return nil, refused
	}
	kind := cmp.Or(q.Get("type"), q.Get("entry_type"))
	if kind != "" && kind != string(wire.Allow) && kind != string(wire.Block) {
		return nil, wire.Refuse(wire.BadRequest, "type must be one of allow, block")
	}
	var from entryMark
	if _, refused = readCursor(q, &from); refused != nil {
		return nil, refused
	}
	list, more, err := r.store.Entries(c.Context(), c.key(), kind, from.ID, limit)
	page := wire.Entries{Entries: []wire.Entry{}, HasMore: more}
	for _, e := range list {
		page.Entries = append(page.Entries, entryOf(e))
		from.ID = e.ID
	}
	page.NextCursor = writeCursor(from, more)
	return page, r.refusal(err, wire.NotFound)
}
