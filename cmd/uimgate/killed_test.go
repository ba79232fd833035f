//go:build !soak

package main

// killedOn returns the moments of a test in which it kills a process on an engine: every second one on each engine, so that each moment
// has one engine. With the build tag soak, each engine has all moments.
func killedOn[M any](engine string, moments ...M) []M {
	var own []M
	for i, m := range moments {
		if (i%2 == 0) == (engine == "SQLite") {
			own = append(own, m)
		}
	}
	return own
}
