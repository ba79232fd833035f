// Package bindings lists the protocols of agents in addition to UIM over HTTP: modules that share one catalogue, agreement, limits and
// ledger.
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

// Modules returns new instances of all modules. The configuration of each service decides which of them it opens.
func Modules() []door.Module {
	return []door.Module{&announce.Door{}, &mcp.Door{}, &oauth.Door{}, &a2a.Door{}, &uagents.Door{}, &aea.Door{}, &mrp.Door{}}
}

// Forms returns their forms of agreement, and of agent ids.
func Forms() []pat.Form { return door.Forms(Modules()) }

// Blocks returns the blocks of the configuration that they read.
func Blocks() config.Blocks { return door.Blocks(Modules()) }
