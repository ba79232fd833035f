//go:build soak

package aea_test

// flooders is the number of agents that start dialogues without continuing them.
const flooders = 40
