package schema

import (
	"strconv"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// A Path is the position of a value inside the parameters. It is converted to a string only for a fault. The nil *Path is the position of
// the parameters object.
type Path struct {
	up    *Path
	name  string
	index int
}

// PathTo returns the path of the member name of the value at up. If up is nil, that value is the parameters object.
func PathTo(up *Path, name string) *Path { return &Path{up: up, name: name, index: -1} }
func pathAt(up *Path, index int) *Path   { return &Path{up: up, index: index} }
func (p *Path) String() string           { return string(p.write(nil)) }
func (p *Path) write(b []byte) []byte {
	if p == nil {
		return b
	}
	b = append(p.up.write(b), '/')
	if p.index >= 0 {
		return strconv.AppendInt(b, int64(p.index), 10)
	}
	return append(b, strictjson.Escape(p.name)...)
}
