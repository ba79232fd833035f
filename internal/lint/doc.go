// Package lint holds tests of the repository itself: that its papers name what exists, and that every package and every module it uses is
// explained.
package lint
