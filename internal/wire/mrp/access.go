package mrp

import "time"

// EntryType is the type of an entry in an access list.
type EntryType string

// The types of entries. The inbox policy AllowList uses only Allow entries, and BlockList uses only Block entries.
const (
	Allow EntryType = "allow"
	Block EntryType = "block"
)

// An Entry allows or blocks one peer if the owner's inbox policy uses entries of its type.
type Entry struct {
	ID        int64     `json:"id"`
	Owner     Key       `json:"owner_key"`
	Peer      Key       `json:"peer_key"`
	Type      EntryType `json:"entry_type"`
	CreatedAt time.Time `json:"created_at"`
}

// Entries is a page of an access list.
type Entries struct {
	Entries    []Entry `json:"entries"`
	HasMore    bool    `json:"has_more"`
	NextCursor *string `json:"next_cursor"`
}

// ReadEntry parses the body of a request that sets an entry. peer is the key in the request's path; it is nil if the body must name the
// peer. The error has the code bad_request or payload_too_large.
func ReadEntry(document []byte, peer *Key) (Key, EntryType, *Error) {
	o, err := readObject(document)
	if err != nil {
		return Key{}, "", err
	}
	var k Key
	if peer != nil && !o.has("peer_key") {
		k = *peer
	} else if k = o.key("peer_key"); o.err == nil && peer != nil && k != *peer {
		o.fail(BadRequest, "peer_key", "is not the key in the path")
	}
	if !o.has("entry_type") {
		o.fail(BadRequest, "entry_type", "is missing")
	}
	t := oneOf(o, "entry_type", Allow, Block)
	return k, t, o.err
}
