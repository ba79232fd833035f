package mrp

import "time"

// EntryType is the type of an entry of an access list.
type EntryType string

// Only the policy of its kind uses an entry.
const (
	Allow EntryType = "allow"
	Block EntryType = "block"
)

// An Entry permits or blocks a peer, under an inbox policy that uses the list.
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

// ReadEntry reads the body of a request that sets an entry. peer is the one in the path; nil if the body names it.
func ReadEntry(document []byte, peer *Key) (Key, EntryType, *Error) {
	o, err := readObject(document)
	if err != nil {
		return Key{}, "", err
	}
	var k Key
	if peer != nil && !o.has("peer_key") {
		k = *peer
	} else if k = o.key("peer_key"); o.err == nil && peer != nil && k != *peer {
		o.fail(BadRequest, "peer_key", "is not the key of the path")
	}
	if !o.has("entry_type") {
		o.fail(BadRequest, "entry_type", "is missing")
	}
	t := oneOf(o, "entry_type", Allow, Block)
	return k, t, o.err
}
