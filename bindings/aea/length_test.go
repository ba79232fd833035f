//go:build !soak

package aea_test

// flooders is the number of agents that start dialogues without continuing them. With the build tag soak there are more.
const flooders = 12
