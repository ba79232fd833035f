package door

import (
	"encoding/json"
	"strings"
)

// A Connection shows how one kind of client connects to a service. It contains no keys and no tokens.
type Connection struct {
	Client string // such as VS Code
	Place  string // what Text is for: Shell, or the name of a file
	Text   string
}

// Shell is the Place of commands.
const Shell = "a shell"

// NewConnection returns a Connection whose Text consists of these lines.
func NewConnection(client, place string, lines ...string) Connection {
	return Connection{Client: client, Place: place, Text: strings.Join(lines, "\n")}
}

// A Target is a service to which clients connect.
type Target struct {
	URL       string            // of the service
	Name      string            // of the service in the settings of clients
	Intent    string            // uid of an intent, for examples
	Addresses map[string]string // of the door: Status.Addresses
}

// A Connector is a Module that shows how clients connect to a service through it. It is safe for concurrent use.
type Connector interface {
	Reporter
	// Connections returns the clients that the protocol has.
	Connections(t Target) []Connection
}

// Quoted returns a string as a JSON literal, which is also valid in JavaScript and Python.
func Quoted(s string) string {
	text, _ := json.Marshal(s) // a string can always be encoded
	return string(text)
}
