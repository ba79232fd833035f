// Package bindings lists the protocols that a service offers to agents in addition to UIM over HTTP. Each protocol is a module; all
// modules share the catalogue, the agreements, the limits and the ledger.
package bindings

import (
	"github.com/uimgate/uimgate/bindings/a2a"
	"github.com/uimgate/uimgate/bindings/aea"
	"github.com/uimgate/uimgate/bindings/announce"
	"github.com/uimgate/uimgate/bindings/mcp"
	"github.com/uimgate/uimgate/bindings/mrp"
	"github.com/uimgate/uimgate/bindings/oauth"
	"github.com/uimgate/uimgate/bindings/uagents"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/pat"
)

// Modules returns a new instance of each module. The configuration of a service determines which modules it opens.
func Modules() []door.Module {
	return []door.Module{&announce.Door{}, &mcp.Door{}, &oauth.Door{}, &a2a.Door{}, &uagents.Door{}, &aea.Door{}, &mrp.Door{}}
}

// Forms returns the forms of agreements and agent ids that the modules add.
func Forms() []pat.Form { return door.Forms(Modules()) }

// Blocks returns the configuration blocks that the modules read.
func Blocks() config.Blocks { return door.Blocks(Modules()) }
