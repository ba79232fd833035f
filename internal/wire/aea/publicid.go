package aea

import (
	"cmp"
	"fmt"

	"github.com/uimgate/uimgate/internal/regex"
)

// A PublicID identifies a package of the framework, such as a protocol, a connection or a skill. As the specification id of a protocol, it
// identifies a wire format; two of them are the same only if all fields are equal.
type PublicID struct {
	Author, Name string
	Version      string // a semantic version, "any" or "latest"
}

// maxPublicID limits the length of a public id in bytes, including both names and the version.
const maxPublicID = 512

// publicID matches a public id. The syntax of the version is that of semver.org.
var publicID = regex.Lazy(`^([a-zA-Z_][a-zA-Z0-9_]{0,127})/([a-zA-Z_][a-zA-Z0-9_]{0,127})` +
	`(?::(any|latest|(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)` +
	`(?:-(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?` +
	`(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?))?$`)

// ParsePublicID parses author/name[:version]. A missing version means latest. The error wraps ErrUndecodable.
func ParsePublicID(s string) (PublicID, error) {
	if len(s) > maxPublicID {
		return PublicID{}, fmt.Errorf("%w: not a public id", ErrUndecodable)
	}
	parts := publicID().FindStringSubmatch(s)
	if parts == nil {
		return PublicID{}, fmt.Errorf("%w: not a public id", ErrUndecodable)
	}
	return PublicID{Author: parts[1], Name: parts[2], Version: cmp.Or(parts[3], "latest")}, nil
}

// IsComponent reports whether an address is a public id. Such an address belongs to a component and not to an agent.
func IsComponent(address string) bool {
	_, err := ParsePublicID(address)
	return err == nil
}

// String returns author/name:version.
func (id PublicID) String() string { return id.Author + "/" + id.Name + ":" + id.Version }
