package a2a

import "github.com/uimgate/uimgate/pat"

// Signers returns the key rings that sign agent cards.
func (d *Door) Signers() []*pat.Keyring { return d.signers }
