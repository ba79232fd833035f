package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"github.com/uimgate/uimgate/internal/privatefile"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// A verifiedPoint is the content of a file that records how far the ledger was verified: that of VerifyLedgerSince, or that of a gateway.
type verifiedPoint struct {
	Version int       `json:"version"`        // writePoint sets it
	Whole   time.Time `json:"whole,omitzero"` // when the gateway last checked the whole ledger
	sqlstore.VerifiedPoint
}

const (
	pointVersion = 1
	mostPoint    = 16 << 20 // bytes
)

var errPoint = errors.New("it is not a file that verify-ledger --since wrote: use another file, or remove it")

// readPoint reads a point. It returns nil if there is no file.
func readPoint(path string) (*verifiedPoint, error) {
	text, err := privatefile.Read(path, mostPoint)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil //nolint:nilnil // there is no point
	case err != nil:
		return nil, err
	}
	var p verifiedPoint
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil || p.Version != pointVersion || p.Seq < 0 {
		return nil, errPoint
	}
	return &p, nil
}

// writePoint replaces the file of a point.
func writePoint(path string, p verifiedPoint) error {
	p.Version = pointVersion
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return privatefile.Write(path, append(text, '\n'))
}
