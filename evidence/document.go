package evidence

import (
	"crypto"
	"encoding/json"
	"fmt"

	"github.com/uimgate/uimgate/pat/keys"
)

// The typ values of documents that summarize an account. Keys of PurposeReceipt sign them.
const (
	TypeStatement = "uim-statement+jwt"
	TypeInvoice   = "uim-invoice+jwt"
)

// MaxDocument is the maximum size of a signed statement or invoice, in bytes.
const MaxDocument = 4 << 20

// A Range is the part of a chain in a period. Opening.K is the number of the entry before the period, or -1 if there is none. In a period
// without entries, From and To are nil, and both heads are equal.
type Range struct {
	From    *int64 `json:"from_k"`
	To      *int64 `json:"to_k"`
	Opening *Head  `json:"opening_head"`
	Closing *Head  `json:"closing_head"`
}

// A Head is the last entry of a chain, or of a part of it.
type Head struct {
	K    int64 `json:"k"`
	Hash Hash  `json:"hash"`
}

// SignDocument signs a document as a compact JWS of the given typ, with an Ed25519 key.
func SignDocument(signer crypto.Signer, kid keys.ID, typ string, document any) (string, error) {
	payload, err := json.Marshal(document)
	if err != nil {
		return "", fmt.Errorf("encoding a document of typ %s: %w", typ, err)
	}
	return signCompact(signer, typ, kid, payload)
}

// VerifyDocument verifies a document of the given typ, and returns its payload. The error wraps ErrReceipt, ErrKey or ErrSignature.
func VerifyDocument(text, typ string, set KeySet) ([]byte, error) {
	j, err := keys.ParseJWS(text, MaxDocument)
	if err != nil || j.Typ != typ {
		return nil, fmt.Errorf("%w: want a compact JWS of typ %s", ErrReceipt, typ)
	}
	key, ok := set.Key(PurposeReceipt, keys.ID(j.KeyID))
	switch {
	case !ok:
		return nil, ErrKey
	case key.Algorithm() != keys.EdDSA || !j.SignedBy(key):
		return nil, ErrSignature
	}
	return j.Payload, nil
}
