//go:build soak

package daemon

// How much the tests send. The documents are as large as a gateway reads.
const (
	ConcurrentAgents = 500 // who call at the same time
	ReloadsAmidCalls = 20
	LargeNonsense    = 1000 // thousandths of the parts that fit into a body
)
