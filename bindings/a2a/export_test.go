package a2a

import (
	"github.com/uimgate/uimgate/pat/keys"
)

// Signers returns the key rings that sign agent cards.
func (d *Door) Signers() []*keys.Keyring { return d.signers }
