package aea

import (
	"fmt"
	"regexp"
)

// A PublicID names a package of the framework: a protocol, a connection, a skill. As the specification id of a protocol it names a wire
// format, and is compared as a whole.
type PublicID struct {
	Author, Name string
	Version      string // a semantic version, any or latest
}

// maxPublicID bounds a public id in bytes; the two names and the version share it.
const maxPublicID = 512

// publicID matches the names of a public id, and its version, which semver.org describes.
var publicID = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]{0,127})/([a-zA-Z_][a-zA-Z0-9_]{0,127})` +
	`(?::(any|latest|(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)` +
	`(?:-(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?` +
	`(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?))?$`)

// ParsePublicID reads author/name[:version]. A missing version is latest.
func ParsePublicID(s string) (PublicID, error) {
	if len(s) > maxPublicID {
		return PublicID{}, fmt.Errorf("%w: no public id", ErrUndecodable)
	}
	parts := publicID.FindStringSubmatch(s)
	if parts == nil {
		return PublicID{}, fmt.Errorf("%w: no public id", ErrUndecodable)
	}
	id := PublicID{Author: parts[1], Name: parts[2], Version: parts[3]}
	if id.Version == "" {
		id.Version = "latest"
	}
	return id, nil
}

// IsComponent reports whether an address is a public id: then it belongs to a component and not to an agent.
func IsComponent(address string) bool {
	_, err := ParsePublicID(address)
	return err == nil
}

// String returns author/name:version.
func (id PublicID) String() string { return id.Author + "/" + id.Name + ":" + id.Version }
