package service

// Definitions are those that were read.
func (l *Loaded) Definitions() []*Definition { return l.definitions }
