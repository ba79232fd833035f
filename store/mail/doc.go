// Package mail defines the records of a message relay: agents, messages, access lists, blobs, webhooks and used signatures. Package
// store/sqlmail stores them in an SQL database. Callers declare the methods that they need.
package mail
