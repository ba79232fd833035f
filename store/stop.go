package store

// MostStops is the number of stops that may be in force at once; see pat.Stop. To refuse more agents than that, an operator can block them.
const MostStops = 1000
