// Package lint contains tests of the repository itself: its documents refer to existing things, and every package and every imported module
// is explained.
package lint
